"""Programs that build what the package ships; none of them is part of it."""
