; The executor: reads the commands of one evaluation and carries them out.
;
; A frame is the memory of one evaluation: head, slots, patches, commands, arguments, in one block. All positions in it
; are byte offsets from its start, so a frame can be copied. Where it stands (pc, chunk) is kept in the head: the native
; call returns to Python whenever Python has something to do, and continues from there.

; Takes the pool for this evaluation, unless another one has it. An evaluation without the pool runs on its own thread.
define internal i1 @acquire(ptr %pool, ptr %frame) nounwind {
entry:
  %owner.at = getelementptr i8, ptr %pool, i64 $Pool.owner
  %owner = load atomic ptr, ptr %owner.at monotonic, align 8
  %have = icmp eq ptr %owner, %frame
  br i1 %have, label %yes, label %other

other:
  %free = icmp eq ptr %owner, null
  br i1 %free, label %try, label %no

try:
  %swap = cmpxchg ptr %owner.at, ptr null, ptr %frame seq_cst seq_cst
  %won = extractvalue { ptr, i1 } %swap, 1
  ret i1 %won

yes:
  ret i1 true

no:
  ret i1 false
}

define internal void @release(ptr %pool, ptr %frame) nounwind {
entry:
  %owner.at = getelementptr i8, ptr %pool, i64 $Pool.owner
  %owner = load atomic ptr, ptr %owner.at monotonic, align 8
  %have = icmp eq ptr %owner, %frame
  br i1 %have, label %give, label %out

give:
  store atomic ptr null, ptr %owner.at release, align 8
  br label %out

out:
  ret void
}

; words[to] = words[slot] + addend for each patch: pointers and sizes of this evaluation go to where they are used.
define internal void @patch(ptr %frame) nounwind {
entry:
  %table.at = getelementptr i8, ptr %frame, i64 $Frame.patches
  %count.at = getelementptr i8, ptr %frame, i64 $Frame.patch_count
  %table.offset = load i64, ptr %table.at
  %count = load i64, ptr %count.at
  %table = getelementptr i8, ptr %frame, i64 %table.offset
  br label %next

next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %write ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %write, label %out

write:
  %row.offset = mul i64 %i, $Size.patch
  %row = getelementptr i8, ptr %table, i64 %row.offset
  %to.at = getelementptr i8, ptr %row, i64 $Patch.to
  %slot.at = getelementptr i8, ptr %row, i64 $Patch.slot
  %addend.at = getelementptr i8, ptr %row, i64 $Patch.addend
  %to.offset = load i64, ptr %to.at
  %slot.offset = load i64, ptr %slot.at
  %addend = load i64, ptr %addend.at
  %slot = getelementptr i8, ptr %frame, i64 %slot.offset
  %to = getelementptr i8, ptr %frame, i64 %to.offset
  %given = load i64, ptr %slot
  %value = add i64 %given, %addend
  store i64 %value, ptr %to
  %i.next = add i64 %i, 1
  br label %next

out:
  ret void
}

; COPY as a kernel: a chunk is 256 KiB. Its arguments are the words of the command, from `to` on.
define internal i64 @copy_chunk(ptr %words, i64 %chunk, ptr %scratch) nounwind {
  %to.at = getelementptr i64, ptr %words, i64 0
  %source.at = getelementptr i64, ptr %words, i64 1
  %nbytes.at = getelementptr i64, ptr %words, i64 2
  %memcpy.at = getelementptr i64, ptr %words, i64 6
  %to = load ptr, ptr %to.at
  %source = load ptr, ptr %source.at
  %nbytes = load i64, ptr %nbytes.at
  %memcpy = load ptr, ptr %memcpy.at
  %offset = shl i64 %chunk, 18
  %rest = sub i64 %nbytes, %offset
  %length = call i64 @llvm.umin.i64(i64 %rest, i64 262144)
  %to.part = getelementptr i8, ptr %to, i64 %offset
  %source.part = getelementptr i8, ptr %source, i64 %offset
  %r = call ptr %memcpy(ptr %to.part, ptr %source.part, i64 %length)
  ret i64 0
}

; The unsigned number of 1, 4 or 8 bytes at an address.
define internal i64 @read_word(ptr %address, i64 %nbytes) nounwind {
entry:
  switch i64 %nbytes, label %eight [
    i64 1, label %one
    i64 4, label %four
  ]

one:
  %byte = load i8, ptr %address
  %byte.wide = zext i8 %byte to i64
  ret i64 %byte.wide

four:
  %half = load i32, ptr %address
  %half.wide = zext i32 %half to i64
  ret i64 %half.wide

eight:
  %word = load i64, ptr %address
  ret i64 %word
}

; Adds the time since the last stamp to the command's entry of the profile, if there is one.
define internal void @stamp(ptr %pool, ptr %frame, i64 %pc) nounwind {
entry:
  %profile.at = getelementptr i8, ptr %frame, i64 $Frame.profile
  %profile = load ptr, ptr %profile.at
  %off = icmp eq ptr %profile, null
  br i1 %off, label %out, label %on

on:
  %stamp.at = getelementptr i8, ptr %frame, i64 $Frame.stamp
  %then = load i64, ptr %stamp.at
  %now = call i64 @clock(ptr %pool, i32 1)
  %spent = sub i64 %now, %then
  %entry.at = getelementptr i64, ptr %profile, i64 %pc
  %sum = load i64, ptr %entry.at
  %sum.next = add i64 %sum, %spent
  store i64 %sum.next, ptr %entry.at
  store i64 %now, ptr %stamp.at
  br label %out

out:
  ret void
}

; Runs chunks start.. of a kernel on this thread alone. Returns the first chunk that was not run; a fault is written to
; the frame and ends the loop.
define internal i64 @alone(ptr %pool, ptr %frame, ptr %kernel, ptr %args, i64 %chunks, i64 %start, ptr %scratch) nounwind {
entry:
  %deadline.at = getelementptr i8, ptr %frame, i64 $Frame.deadline
  %deadline = load i64, ptr %deadline.at
  br label %run

run:
  %chunk = phi i64 [ %start, %entry ], [ %chunk.next, %look ]
  %code = call i64 %kernel(ptr %args, i64 %chunk, ptr %scratch)
  %chunk.next = add i64 %chunk, 1
  %fine = icmp eq i64 %code, 0
  br i1 %fine, label %ran, label %report

ran:
  %more = icmp slt i64 %chunk.next, %chunks
  br i1 %more, label %look, label %out

look:
  %now = call i64 @clock(ptr %pool, i32 6)
  %late = icmp sgt i64 %now, %deadline
  br i1 %late, label %out, label %run

report:
  %high = shl i64 %chunk, 32
  %low = and i64 %code, 4294967295
  %packed = or i64 %high, %low
  %fault.at = getelementptr i8, ptr %frame, i64 $Frame.fault
  store i64 %packed, ptr %fault.at
  br label %out

out:
  ret i64 %chunk.next
}

; Decides whether a command is worth the pool: several chunks, enough work, the pool free, and workers that are awake or
; worth waking. Returns 0 alone, 1 together with those awake, 2 together and wake the others, 3 start the workers first.
define internal i64 @choose(ptr %pool, ptr %frame, i64 %chunks, i64 %cost, i64 %tail) nounwind {
entry:
  %solo.at = getelementptr i8, ptr %pool, i64 $Pool.solo_ns
  %solo = load i64, ptr %solo.at
  %big = icmp sge i64 %cost, %solo
  %several = icmp sgt i64 %chunks, 1
  %countable = icmp slt i64 %chunks, 2147483648
  %two = and i1 %big, %several
  %wide = and i1 %two, %countable
  br i1 %wide, label %take, label %no

take:
  %owned = call i1 @acquire(ptr %pool, ptr %frame)
  br i1 %owned, label %count, label %no

count:
  %workers.at = getelementptr i8, ptr %pool, i64 $Pool.workers
  %sleepers.at = getelementptr i8, ptr %pool, i64 $Pool.sleepers
  %startable.at = getelementptr i8, ptr %pool, i64 $Pool.startable
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  %sleepers = load atomic i64, ptr %sleepers.at monotonic, align 8
  %startable = load i64, ptr %startable.at
  %some.awake = icmp ult i64 %sleepers, %workers
  %awake = zext i1 %some.awake to i64
  %some.asleep = icmp ne i64 %sleepers, 0
  %unborn = icmp ne i64 %startable, 0
  %more = or i1 %some.asleep, %unborn
  br i1 %more, label %price, label %answer

price:
  %pays = call i1 @waking_pays(ptr %pool, i64 %cost, i64 %tail, i1 %some.awake)
  %wake = select i1 %unborn, i64 3, i64 2
  %choice = select i1 %pays, i64 %wake, i64 %awake
  ret i64 %choice

answer:
  ret i64 %awake

no:
  ret i64 0
}

; Waking a parked worker pays when this command and those that follow are long. Short evaluations in quick succession pay
; together: work that was done alone is added up, and forgotten when the evaluations pause.
define internal i1 @waking_pays(ptr %pool, i64 %cost, i64 %tail, i1 %some.awake) nounwind {
entry:
  %wake.at = getelementptr i8, ptr %pool, i64 $Pool.wake_ns
  %wake = load i64, ptr %wake.at
  %long = icmp sge i64 %tail, %wake
  %decided = or i1 %long, %some.awake
  br i1 %decided, label %by.length, label %by.debt

by.length:
  ret i1 %long

by.debt:
  %debt.at = getelementptr i8, ptr %pool, i64 $Pool.debt_ns
  %last.at = getelementptr i8, ptr %pool, i64 $Pool.last_alone
  %debt = load i64, ptr %debt.at
  %last = load i64, ptr %last.at
  %now = call i64 @clock(ptr %pool, i32 1)
  %gap = sub i64 %now, %last
  %pause = mul i64 %wake, 3
  %paused = icmp sgt i64 %gap, %pause
  %kept = select i1 %paused, i64 0, i64 %debt
  %sum = add i64 %kept, %cost
  %threshold = mul i64 %wake, 5
  %due = icmp sge i64 %sum, %threshold
  %debt.new = select i1 %due, i64 0, i64 %sum
  store i64 %debt.new, ptr %debt.at
  store i64 %now, ptr %last.at
  ret i1 %due
}

; Scratch of this thread with at least `nbytes`: the pool's first block for the owner, the frame's own otherwise.
; Returns null after noting in the frame what is missing; a command without scratch never asks.
define internal ptr @scratch(ptr %pool, ptr %frame, i64 %nbytes) nounwind {
entry:
  %owned = call i1 @acquire(ptr %pool, ptr %frame)
  %shared = zext i1 %owned to i64
  %table.at = getelementptr i8, ptr %pool, i64 $Pool.scratch_now
  %table = load atomic ptr, ptr %table.at acquire, align 8
  %table.bytes.at = getelementptr i8, ptr %table, i64 $Scratch.nbytes
  %table.block.at = getelementptr i8, ptr %table, i64 $Scratch.blocks
  %own.bytes.at = getelementptr i8, ptr %frame, i64 $Frame.scratch_bytes
  %own.block.at = getelementptr i8, ptr %frame, i64 $Frame.scratch
  %bytes.at = select i1 %owned, ptr %table.bytes.at, ptr %own.bytes.at
  %block.at = select i1 %owned, ptr %table.block.at, ptr %own.block.at
  %bytes = load i64, ptr %bytes.at
  %block = load ptr, ptr %block.at
  %enough = icmp sge i64 %bytes, %nbytes
  br i1 %enough, label %out, label %missing

missing:
  %wanted.at = getelementptr i8, ptr %frame, i64 $Frame.wanted_bytes
  %wanted.shared.at = getelementptr i8, ptr %frame, i64 $Frame.wanted_shared
  store i64 %nbytes, ptr %wanted.at
  store i64 %shared, ptr %wanted.shared.at
  ret ptr null

out:
  ret ptr %block
}

; Carries out the frame's commands. Returns a $Status number; all but DONE and FAULT ask to be called again.
define i64 @execute(ptr %frame) nounwind {
entry:
  %pool.at = getelementptr i8, ptr %frame, i64 $Frame.pool
  %fresh.at = getelementptr i8, ptr %frame, i64 $Frame.fresh
  %pc.at = getelementptr i8, ptr %frame, i64 $Frame.pc
  %chunk.at = getelementptr i8, ptr %frame, i64 $Frame.chunk
  %deadline.at = getelementptr i8, ptr %frame, i64 $Frame.deadline
  %commands.at = getelementptr i8, ptr %frame, i64 $Frame.commands
  %fault.at = getelementptr i8, ptr %frame, i64 $Frame.fault
  %profile.at = getelementptr i8, ptr %frame, i64 $Frame.profile
  %stamp.at = getelementptr i8, ptr %frame, i64 $Frame.stamp
  %pool = load ptr, ptr %pool.at
  %slice.at = getelementptr i8, ptr %pool, i64 $Pool.slice_ns
  %slice = load i64, ptr %slice.at
  %now = call i64 @clock(ptr %pool, i32 6)
  %deadline = add i64 %now, %slice
  store i64 %deadline, ptr %deadline.at
  %commands.offset = load i64, ptr %commands.at
  %commands = getelementptr i8, ptr %frame, i64 %commands.offset
  %profile = load ptr, ptr %profile.at
  %profiled = icmp ne ptr %profile, null
  br i1 %profiled, label %start.stamp, label %look.fresh

start.stamp:
  %exact = call i64 @clock(ptr %pool, i32 1)
  store i64 %exact, ptr %stamp.at
  br label %look.fresh

look.fresh:
  %fresh = load i64, ptr %fresh.at
  %is.fresh = icmp ne i64 %fresh, 0
  br i1 %is.fresh, label %begin, label %dispatch

begin:
  store i64 0, ptr %fresh.at
  call void @patch(ptr %frame)
  br label %dispatch

dispatch:
  %pc = load i64, ptr %pc.at
  %command.offset = mul i64 %pc, $Size.command
  %command = getelementptr i8, ptr %commands, i64 %command.offset
  %op = load i64, ptr %command
  ; The fields of all commands, by position; each command below uses those it has.
  %to.at = getelementptr i8, ptr %command, i64 $Command.to
  %source.at = getelementptr i8, ptr %command, i64 $Command.source
  %nbytes.at = getelementptr i8, ptr %command, i64 $Command.nbytes
  %limit.at = getelementptr i8, ptr %command, i64 $Command.limit
  %to = load i64, ptr %to.at
  %source = load i64, ptr %source.at
  %nbytes = load i64, ptr %nbytes.at
  %limit = load i64, ptr %limit.at
  %to.word = getelementptr i8, ptr %frame, i64 %to
  %source.word = getelementptr i8, ptr %frame, i64 %source
  %source.address = inttoptr i64 %source to ptr
  %pc.next = add i64 %pc, 1
  switch i64 %op, label %stop [
    i64 $Op.RUN, label %run
    i64 $Op.COPY, label %copy
    i64 $Op.READ, label %read
    i64 $Op.MOVE, label %move
    i64 $Op.SET, label %set
    i64 $Op.ADD, label %add
    i64 $Op.BRANCH_ZERO, label %branch.zero
    i64 $Op.BRANCH_NONZERO, label %branch.nonzero
    i64 $Op.JUMP, label %jump
    i64 $Op.HOST, label %host
    i64 $Op.CHECK, label %check
  ]

stop:
  store i64 0, ptr %pc.at
  store i64 1, ptr %fresh.at
  br label %leave

run:
  %run.kernel = inttoptr i64 %to to ptr
  br label %launch

copy:
  %rounded = add i64 %nbytes, 262143
  %copy.chunks = lshr i64 %rounded, 18
  br label %launch

launch:
  %kernel = phi ptr [ %run.kernel, %run ], [ @copy_chunk, %copy ]
  %args = phi ptr [ %source.word, %run ], [ %to.at, %copy ]
  %chunks = phi i64 [ %nbytes, %run ], [ %copy.chunks, %copy ]
  %start = load i64, ptr %chunk.at
  %some = icmp slt i64 %start, %chunks
  br i1 %some, label %choose, label %step

choose:
  %cost.at = getelementptr i8, ptr %command, i64 $Command.cost
  %tail.at = getelementptr i8, ptr %command, i64 $Command.tail
  %cost = load i64, ptr %cost.at
  %tail = load i64, ptr %tail.at
  %choice = call i64 @choose(ptr %pool, ptr %frame, i64 %chunks, i64 %cost, i64 %tail)
  %unborn = icmp eq i64 %choice, 3
  br i1 %unborn, label %leave, label %space

space:
  %needs = icmp ne i64 %limit, 0
  br i1 %needs, label %find.scratch, label %ready

find.scratch:
  %found = call ptr @scratch(ptr %pool, ptr %frame, i64 %limit)
  %lacking = icmp eq ptr %found, null
  br i1 %lacking, label %leave, label %ready

ready:
  %block = phi ptr [ null, %space ], [ %found, %find.scratch ]
  %together = icmp ne i64 %choice, 0
  %wake = icmp eq i64 %choice, 2
  br i1 %together, label %go.together, label %go.alone

go.together:
  %next.together = call i64 @parallel(ptr %pool, ptr %frame, ptr %kernel, ptr %args, i64 %chunks, i64 %start, i1 %wake)
  br label %went

go.alone:
  %next.alone = call i64 @alone(ptr %pool, ptr %frame, ptr %kernel, ptr %args, i64 %chunks, i64 %start, ptr %block)
  br label %went

went:
  %next = phi i64 [ %next.together, %go.together ], [ %next.alone, %go.alone ]
  %fault = load atomic i64, ptr %fault.at monotonic, align 8
  %healthy = icmp eq i64 %fault, -1
  br i1 %healthy, label %finished, label %leave

finished:
  %all = icmp sge i64 %next, %chunks
  br i1 %all, label %step, label %interrupted

interrupted:
  store i64 %next, ptr %chunk.at
  br label %leave

read:
  %value = call i64 @read_word(ptr %source.address, i64 %nbytes)
  %above = icmp ugt i64 %value, %limit
  store i64 %value, ptr %to.word
  br i1 %above, label %too.large, label %step

too.large:
  store i64 $Fault.limit, ptr %fault.at
  br label %leave

move:
  %moved = load i64, ptr %source.word
  %less = sub i64 %nbytes, 1
  %raised = add i64 %moved, %less
  %quotient = sdiv i64 %raised, %nbytes
  store i64 %quotient, ptr %to.word
  br label %step

set:
  store i64 %source, ptr %to.word
  br label %step

add:
  %term = load i64, ptr %to.word
  %sum = add i64 %term, %source
  store i64 %sum, ptr %to.word
  br label %step

branch.zero:
  %word.z = load i64, ptr %to.word
  %zero = icmp eq i64 %word.z, 0
  %pc.zero = select i1 %zero, i64 %source, i64 %pc.next
  br label %go

branch.nonzero:
  %word.n = load i64, ptr %to.word
  %nonzero = icmp ne i64 %word.n, 0
  %pc.nonzero = select i1 %nonzero, i64 %source, i64 %pc.next
  br label %go

jump:
  br label %go

host:
  br label %leave

check:
  %error = load i64, ptr %source.address
  %ok = icmp eq i64 %error, 0
  br i1 %ok, label %step, label %failed

failed:
  %error.low = and i64 %error, 4294967295
  store i64 %error.low, ptr %fault.at
  br label %leave

step:
  store i64 0, ptr %chunk.at
  br label %go

; To the next command, or back to Python if this slice is over.
go:
  %pc.new = phi i64 [ %pc.next, %step ], [ %pc.zero, %branch.zero ], [ %pc.nonzero, %branch.nonzero ], [ %source, %jump ]
  store i64 %pc.new, ptr %pc.at
  call void @stamp(ptr %pool, ptr %frame, i64 %pc)
  %tick = call i64 @clock(ptr %pool, i32 6)
  %late = icmp sgt i64 %tick, %deadline
  br i1 %late, label %leave, label %dispatch

leave:
  %status = phi i64 [ $Status.DONE, %stop ], [ $Status.START, %choose ], [ $Status.SCRATCH, %find.scratch ], [ $Status.FAULT, %went ], [ $Status.SLICE_OVER, %interrupted ], [ $Status.FAULT, %too.large ], [ $Status.HOST, %host ], [ $Status.FAULT, %failed ], [ $Status.SLICE_OVER, %go ]
  call void @release(ptr %pool, ptr %frame)
  ret i64 %status
}
