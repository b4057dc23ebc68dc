"""How a case is judged, shown, pinned and reproduced: a module for each kind of case, and the table of them."""
