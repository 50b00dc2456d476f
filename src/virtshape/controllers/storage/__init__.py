"""Storage as controllers see it: claims and the volumes behind them, what fills those, and where guests find them."""
