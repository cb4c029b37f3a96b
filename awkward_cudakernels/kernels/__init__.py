"""The kernels, by the layout class that calls them. `registry` imports all modules of this folder."""
