"""Pure functions that apply JSON patches, merge patches and strategic merge patches to objects."""
