"""Tensor programs, timed side by side with other libraries on the same inputs.

    programs.py    what is computed: a table of programs, their inputs, how exact an answer must be
    libraries/     how each library writes them: one file a library
    worker.py      the process in which one library runs
    runner.py      starts the workers, owns the clock, takes turns, checks what came out
    summary.py     medians, quartiles, and whether a difference is one
    report.py      the table on the screen and the JSON file

In:  names of programs and libraries, a number of threads and of rounds.
Out: one `Row` per program, library and number of threads; a wrong, failed or late row never gets a ratio.
"""
