"""Disk images: judged before they are trusted, fetched, unpacked, converted and cloned, and never seen half-written."""
