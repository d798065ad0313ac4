; The thread pool: one owner (the thread that evaluates) and workers that help it.
;
; A command is published as a ticket, epoch << 32 | chunks left. A thread claims a chunk by lowering the ticket with a
; compare-and-swap; the chunk's number is chunks - left. Because a finished epoch has nothing left, a late thread can
; claim nothing with an old ticket, and what it read about the command is discarded with it. The owner waits for chunks
; done, never for threads: a worker that sleeps, or has lost its CPU, costs nothing unless it holds a chunk.
; The ticket is the first word of the pool, so `%pool` is its address too.

; Futex operations, private to the process: 128 wait, 129 wake.

define internal void @futex_wait(ptr %pool, ptr %word, i64 %seen) nounwind {
  %at = getelementptr i8, ptr %pool, i64 $Pool.syscall
  %syscall = load ptr, ptr %at
  %r = call i64 (i64, ...) %syscall(i64 $Sys.futex, ptr %word, i64 128, i64 %seen, ptr null, ptr null, i64 0)
  ret void
}

define internal void @futex_wake(ptr %pool, ptr %word, i64 %count) nounwind {
  %at = getelementptr i8, ptr %pool, i64 $Pool.syscall
  %syscall = load ptr, ptr %at
  %r = call i64 (i64, ...) %syscall(i64 $Sys.futex, ptr %word, i64 129, i64 %count, ptr null, ptr null, i64 0)
  ret void
}

; Nanoseconds on a clock of the C library: 1 is exact, 6 is the last timer tick and three times cheaper.
define internal i64 @clock(ptr %pool, i32 %which) nounwind {
  %time = alloca [2 x i64]
  %at = getelementptr i8, ptr %pool, i64 $Pool.clock_gettime
  %clock_gettime = load ptr, ptr %at
  %r = call i32 %clock_gettime(i32 %which, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %ns = add i64 %whole, %rest
  ret i64 %ns
}

; Claims and runs chunks of the published command until none is left.
; deadline: when to stop and withdraw the chunks that nobody has claimed; workers pass the largest number.
; Returns how many chunks were withdrawn.
define internal i64 @drain(ptr %pool, i64 %epoch, i64 %number, i64 %deadline) nounwind {
entry:
  %kernel.at = getelementptr i8, ptr %pool, i64 $Pool.kernel
  %args.at = getelementptr i8, ptr %pool, i64 $Pool.args
  %chunks.at = getelementptr i8, ptr %pool, i64 $Pool.chunks
  %table.at = getelementptr i8, ptr %pool, i64 $Pool.scratch
  %fault.at = getelementptr i8, ptr %pool, i64 $Pool.fault
  %kernel = load atomic ptr, ptr %kernel.at monotonic, align 8
  %args = load atomic ptr, ptr %args.at monotonic, align 8
  %chunks = load atomic i64, ptr %chunks.at monotonic, align 8
  %table = load atomic ptr, ptr %table.at monotonic, align 8
  %fault = load atomic ptr, ptr %fault.at monotonic, align 8
  %blocks = getelementptr i8, ptr %table, i64 $Scratch.blocks
  %scratch.at = getelementptr ptr, ptr %blocks, i64 %number
  %scratch = load ptr, ptr %scratch.at
  %has.deadline = icmp ne i64 %deadline, 9223372036854775807
  br label %claim

claim:
  %mine = phi i64 [ 0, %entry ], [ %mine, %take ], [ %mine.next, %ran ], [ %mine.next, %look ]
  %ticket = load atomic i64, ptr %pool acquire, align 8
  %now.epoch = lshr i64 %ticket, 32
  %left = and i64 %ticket, 4294967295
  %current = icmp eq i64 %now.epoch, %epoch
  %some = icmp ne i64 %left, 0
  %open = and i1 %current, %some
  br i1 %open, label %take, label %account

take:
  %lowered = sub i64 %ticket, 1
  %swap = cmpxchg ptr %pool, i64 %ticket, i64 %lowered seq_cst seq_cst
  %won = extractvalue { i64, i1 } %swap, 1
  br i1 %won, label %begin, label %claim

; Chunks above one that has faulted are skipped. Chunks below it were claimed before it and run, so the lowest faulting
; chunk is the one reported, whatever the threads do.
begin:
  %chunk = sub i64 %chunks, %left
  %worst = load atomic i64, ptr %fault monotonic, align 8
  %worst.chunk = lshr i64 %worst, 32
  %skip = icmp ult i64 %worst.chunk, %chunk
  br i1 %skip, label %ran, label %run

run:
  %code = call i64 %kernel(ptr %args, i64 %chunk, ptr %scratch)
  %fine = icmp eq i64 %code, 0
  br i1 %fine, label %ran, label %report

report:
  %high = shl i64 %chunk, 32
  %low = and i64 %code, 4294967295
  %packed = or i64 %high, %low
  %before = atomicrmw umin ptr %fault, i64 %packed seq_cst
  br label %ran

ran:
  %mine.next = add i64 %mine, 1
  br i1 %has.deadline, label %look, label %claim

look:
  %now = call i64 @clock(ptr %pool, i32 6)
  %late = icmp sgt i64 %now, %deadline
  br i1 %late, label %withdraw, label %claim

withdraw:
  %t = load atomic i64, ptr %pool acquire, align 8
  %t.left = and i64 %t, 4294967295
  %t.none = sub i64 %t, %t.left
  %t.swap = cmpxchg ptr %pool, i64 %t, i64 %t.none seq_cst seq_cst
  %t.won = extractvalue { i64, i1 } %t.swap, 1
  br i1 %t.won, label %account, label %withdraw

; The owner sleeps only after it has written what it waits for, and looks at the count once more in between.
account:
  %finished = phi i64 [ %mine, %claim ], [ %mine.next, %withdraw ]
  %withdrawn = phi i64 [ 0, %claim ], [ %t.left, %withdraw ]
  %idle = icmp eq i64 %finished, 0
  br i1 %idle, label %out, label %add

add:
  %done = getelementptr i8, ptr %pool, i64 $Pool.done
  %awaited.at = getelementptr i8, ptr %pool, i64 $Pool.awaited
  %done.before = atomicrmw add ptr %done, i64 %finished seq_cst
  %done.now = add i64 %done.before, %finished
  %awaited = load atomic i64, ptr %awaited.at seq_cst, align 8
  %asleep = icmp ne i64 %awaited, 0
  %enough = icmp uge i64 %done.now, %awaited
  %wake = and i1 %asleep, %enough
  br i1 %wake, label %call.owner, label %out

call.owner:
  call void @futex_wake(ptr %pool, ptr %done, i64 1)
  br label %out

out:
  ret i64 %withdrawn
}

; The owner's wait until `target` chunks are done: spin for a while, then sleep.
define internal void @join(ptr %pool, i64 %target) nounwind {
entry:
  %done.at = getelementptr i8, ptr %pool, i64 $Pool.done
  %awaited.at = getelementptr i8, ptr %pool, i64 $Pool.awaited
  %spin.at = getelementptr i8, ptr %pool, i64 $Pool.join_ns
  %spin = load i64, ptr %spin.at
  br label %look

look:
  %breath = phi i64 [ 0, %entry ], [ %breath.next, %breathe ], [ %breath.next, %time ]
  %until = phi i64 [ 0, %entry ], [ %until, %breathe ], [ %until.next, %time ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %all = icmp uge i64 %done, %target
  br i1 %all, label %out, label %breathe

breathe:
  call void @relax()
  %breath.next = add i64 %breath, 1
  %some = and i64 %breath.next, 31
  %read.clock = icmp eq i64 %some, 0
  br i1 %read.clock, label %time, label %look

; The first look at the clock starts the spin's time.
time:
  %now = call i64 @clock(ptr %pool, i32 1)
  %first = icmp eq i64 %until, 0
  %end = add i64 %now, %spin
  %until.next = select i1 %first, i64 %end, i64 %until
  %over = icmp sgt i64 %now, %until.next
  br i1 %over, label %sleep, label %look

sleep:
  store atomic i64 %target, ptr %awaited.at seq_cst, align 8
  %seen = load atomic i64, ptr %done.at seq_cst, align 8
  %ready = icmp uge i64 %seen, %target
  br i1 %ready, label %awake, label %wait

wait:
  call void @futex_wait(ptr %pool, ptr %done.at, i64 %seen)
  br label %sleep

awake:
  store atomic i64 0, ptr %awaited.at monotonic, align 8
  br label %out

out:
  ret void
}

; Wakes a few parked workers; they wake the others.
define internal void @ring(ptr %pool, i64 %left) nounwind {
entry:
  %sleepers.at = getelementptr i8, ptr %pool, i64 $Pool.sleepers
  %sleepers = load atomic i64, ptr %sleepers.at seq_cst, align 8
  %nobody = icmp eq i64 %sleepers, 0
  br i1 %nobody, label %out, label %toll

toll:
  %bell.at = getelementptr i8, ptr %pool, i64 $Pool.bell
  %before = atomicrmw add ptr %bell.at, i64 1 seq_cst
  %others = sub i64 %left, 1
  %few = call i64 @llvm.umin.i64(i64 %others, i64 4)
  call void @futex_wake(ptr %pool, ptr %bell.at, i64 %few)
  br label %out

out:
  ret void
}

declare i64 @llvm.umin.i64(i64, i64)

; Gives the calling thread, or thread `tid`, the CPUs of the workers.
define internal void @apply_mask(ptr %pool, i64 %tid) nounwind {
  %at = getelementptr i8, ptr %pool, i64 $Pool.syscall
  %syscall = load ptr, ptr %at
  %mask = getelementptr i8, ptr %pool, i64 $Pool.mask
  %r = call i64 (i64, ...) %syscall(i64 $Sys.sched_setaffinity, i64 %tid, i64 $Size.mask, ptr %mask)
  ret void
}

; Keeps workers off the CPU of the owner. Left alone, the scheduler may hold a woken worker on the CPU of the thread that
; woke it for milliseconds. The owner itself is never bound to a CPU: threads that it creates would inherit that.
define internal void @keep_off(ptr %pool) nounwind {
entry:
  %getcpu.at = getelementptr i8, ptr %pool, i64 $Pool.sched_getcpu
  %getcpu = load ptr, ptr %getcpu.at
  %cpu.i32 = call i32 %getcpu()
  %cpu = zext i32 %cpu.i32 to i64
  %old.at = getelementptr i8, ptr %pool, i64 $Pool.caller_cpu
  %old = load i64, ptr %old.at
  %stayed = icmp eq i64 %old, %cpu
  br i1 %stayed, label %out, label %moved

; At most once a timer tick: two threads that take turns must not chase the workers to and fro.
moved:
  %tick = call i64 @clock(ptr %pool, i32 6)
  %placed.at = getelementptr i8, ptr %pool, i64 $Pool.placed_at
  %placed = load i64, ptr %placed.at
  %too.soon = icmp eq i64 %tick, %placed
  %cpus.at = getelementptr i8, ptr %pool, i64 $Pool.cpus
  %cpus = load i64, ptr %cpus.at
  %only.one = icmp ult i64 %cpus, 2
  %unknown = icmp uge i64 %cpu, 1024
  %no.choice = or i1 %only.one, %unknown
  %leave = or i1 %too.soon, %no.choice
  br i1 %leave, label %out, label %copy

copy:
  %i = phi i64 [ 0, %moved ], [ %i.next, %copy ]
  %allowed.at = getelementptr i8, ptr %pool, i64 $Pool.allowed
  %mask.at = getelementptr i8, ptr %pool, i64 $Pool.mask
  %from = getelementptr i64, ptr %allowed.at, i64 %i
  %to = getelementptr i64, ptr %mask.at, i64 %i
  %allowed = load i64, ptr %from
  %word = lshr i64 %cpu, 6
  %in.word = icmp eq i64 %word, %i
  %bit = and i64 %cpu, 63
  %one = shl i64 1, %bit
  %drop = select i1 %in.word, i64 %one, i64 0
  %keep = xor i64 %drop, -1
  %kept = and i64 %allowed, %keep
  store i64 %kept, ptr %to
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 16
  br i1 %more, label %copy, label %place

place:
  store i64 %cpu, ptr %old.at
  store i64 %tick, ptr %placed.at
  %workers.at = getelementptr i8, ptr %pool, i64 $Pool.workers
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  %seats = getelementptr i8, ptr %pool, i64 $Pool.end
  br label %each

each:
  %w = phi i64 [ 0, %place ], [ %w.next, %next ]
  %more.workers = icmp ult i64 %w, %workers
  br i1 %more.workers, label %one.worker, label %out

one.worker:
  %offset = mul i64 %w, $Seat.end
  %seat = getelementptr i8, ptr %seats, i64 %offset
  %tid.at = getelementptr i8, ptr %seat, i64 $Seat.tid
  %tid = load atomic i64, ptr %tid.at seq_cst, align 8
  %born = icmp ne i64 %tid, 0
  br i1 %born, label %set, label %next

set:
  call void @apply_mask(ptr %pool, i64 %tid)
  br label %next

next:
  %w.next = add i64 %w, 1
  br label %each

out:
  ret void
}

; Runs chunks start..chunks-1 of a kernel with all threads that are awake, or all after waking them. The caller owns the
; pool.
; Returns the first chunk that was not run: `chunks`, or less when the owner's time slice ended.
define internal i64 @parallel(ptr %pool, ptr %frame, ptr %kernel, ptr %args, i64 %chunks, i64 %start, i1 %wake) nounwind {
entry:
  call void @keep_off(ptr %pool)
  %kernel.at = getelementptr i8, ptr %pool, i64 $Pool.kernel
  %args.at = getelementptr i8, ptr %pool, i64 $Pool.args
  %chunks.at = getelementptr i8, ptr %pool, i64 $Pool.chunks
  %scratch.at = getelementptr i8, ptr %pool, i64 $Pool.scratch
  %fault.at = getelementptr i8, ptr %pool, i64 $Pool.fault
  %mode.at = getelementptr i8, ptr %pool, i64 $Pool.float_mode
  %done.at = getelementptr i8, ptr %pool, i64 $Pool.done
  %table.at = getelementptr i8, ptr %pool, i64 $Pool.scratch_now
  %fault = getelementptr i8, ptr %frame, i64 $Frame.fault
  %table = load atomic ptr, ptr %table.at acquire, align 8
  %mode = call i64 @float_mode()
  store atomic ptr %kernel, ptr %kernel.at monotonic, align 8
  store atomic ptr %args, ptr %args.at monotonic, align 8
  store atomic i64 %chunks, ptr %chunks.at monotonic, align 8
  store atomic ptr %table, ptr %scratch.at monotonic, align 8
  store atomic ptr %fault, ptr %fault.at monotonic, align 8
  store atomic i64 %mode, ptr %mode.at monotonic, align 8
  store atomic i64 0, ptr %done.at monotonic, align 8
  %ticket = load atomic i64, ptr %pool monotonic, align 8
  %last = lshr i64 %ticket, 32
  %next = add i64 %last, 1
  %epoch = and i64 %next, 4294967295
  %high = shl i64 %epoch, 32
  %left = sub i64 %chunks, %start
  %open = or i64 %high, %left
  store atomic i64 %open, ptr %pool seq_cst, align 8
  br i1 %wake, label %call.workers, label %work

call.workers:
  call void @ring(ptr %pool, i64 %left)
  br label %work

work:
  %deadline.at = getelementptr i8, ptr %frame, i64 $Frame.deadline
  %deadline = load i64, ptr %deadline.at
  %withdrawn = call i64 @drain(ptr %pool, i64 %epoch, i64 0, i64 %deadline)
  %target = sub i64 %left, %withdrawn
  call void @join(ptr %pool, i64 %target)
  %reached = sub i64 %chunks, %withdrawn
  ret i64 %reached
}

; The life of a worker thread: spin for a new epoch, help, spin again; park after spin_ns without work.
define ptr @worker(ptr %seat) nounwind {
entry:
  %pool = load ptr, ptr %seat
  %number.at = getelementptr i8, ptr %seat, i64 $Seat.number
  %number = load i64, ptr %number.at
  %tid.at = getelementptr i8, ptr %seat, i64 $Seat.tid
  %syscall.at = getelementptr i8, ptr %pool, i64 $Pool.syscall
  %syscall = load ptr, ptr %syscall.at
  %spin.at = getelementptr i8, ptr %pool, i64 $Pool.spin_ns
  %spin = load i64, ptr %spin.at
  %mode.at = getelementptr i8, ptr %pool, i64 $Pool.float_mode
  %bell.at = getelementptr i8, ptr %pool, i64 $Pool.bell
  %sleepers.at = getelementptr i8, ptr %pool, i64 $Pool.sleepers
  %stop.at = getelementptr i8, ptr %pool, i64 $Pool.stop
  ; The owner sets the mask, then reads the thread's id; this thread does it the other way round: one of them applies it.
  %tid = call i64 (i64, ...) %syscall(i64 $Sys.gettid)
  store atomic i64 %tid, ptr %tid.at seq_cst, align 8
  call void @apply_mask(ptr %pool, i64 0)
  br label %rest

rest:
  %seen = phi i64 [ -1, %entry ], [ %epoch, %fresh ], [ %epoch, %help ], [ %seen, %pass.on ], [ %seen, %chime ]
  %rested = call i64 @clock(ptr %pool, i32 1)
  %until = add i64 %rested, %spin
  br label %look

look:
  %breath = phi i64 [ 0, %rest ], [ %breath.next, %breathe ], [ %breath.next, %time ]
  %ticket = load atomic i64, ptr %pool acquire, align 8
  %epoch = lshr i64 %ticket, 32
  %new = icmp ne i64 %epoch, %seen
  br i1 %new, label %fresh, label %breathe

fresh:
  %left = and i64 %ticket, 4294967295
  %nothing = icmp eq i64 %left, 0
  br i1 %nothing, label %rest, label %help

help:
  %mode = load atomic i64, ptr %mode.at monotonic, align 8
  %own.mode = call i64 @float_mode()
  call void @adopt_mode(i64 %own.mode, i64 %mode)
  %ignored = call i64 @drain(ptr %pool, i64 %epoch, i64 %number, i64 9223372036854775807)
  br label %rest

breathe:
  call void @relax()
  %breath.next = add i64 %breath, 1
  %some = and i64 %breath.next, 31
  %read.clock = icmp eq i64 %some, 0
  br i1 %read.clock, label %time, label %look

time:
  %now = call i64 @clock(ptr %pool, i32 1)
  %over = icmp sgt i64 %now, %until
  br i1 %over, label %park, label %look

; Read the bell, say that we sleep, look once more: whoever publishes after this look sees us and may ring.
park:
  %rung = load atomic i64, ptr %bell.at seq_cst, align 8
  %before = atomicrmw add ptr %sleepers.at, i64 1 seq_cst
  %ticket.again = load atomic i64, ptr %pool seq_cst, align 8
  %epoch.again = lshr i64 %ticket.again, 32
  %missed = icmp ne i64 %epoch.again, %seen
  %stop.now = load atomic i64, ptr %stop.at seq_cst, align 8
  %stopping = icmp ne i64 %stop.now, 0
  %stay = or i1 %missed, %stopping
  br i1 %stay, label %up, label %sleep

sleep:
  call void @futex_wait(ptr %pool, ptr %bell.at, i64 %rung)
  br label %up

up:
  %after = atomicrmw sub ptr %sleepers.at, i64 1 seq_cst
  %stop.then = load atomic i64, ptr %stop.at seq_cst, align 8
  %ended = icmp ne i64 %stop.then, 0
  br i1 %ended, label %end, label %pass.on

; Wake others while chunks are left for them.
pass.on:
  %others = sub i64 %after, 1
  %ticket.up = load atomic i64, ptr %pool acquire, align 8
  %left.up = and i64 %ticket.up, 4294967295
  %more = icmp ugt i64 %left.up, 1
  %any = icmp ne i64 %others, 0
  %chain = and i1 %more, %any
  br i1 %chain, label %chime, label %rest

chime:
  call void @futex_wake(ptr %pool, ptr %bell.at, i64 2)
  br label %rest

end:
  ret ptr null
}

; The worker computes with the owner's rounding and denormal handling; the register is written only when it differs.
define internal void @adopt_mode(i64 %own, i64 %wanted) nounwind {
entry:
  %same = icmp eq i64 %own, %wanted
  br i1 %same, label %out, label %set

set:
  call void @set_float_mode(i64 %wanted)
  br label %out

out:
  ret void
}
