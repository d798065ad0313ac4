"""Programs written with nothing but the moves, and the loop trees that they become."""
