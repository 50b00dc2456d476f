/** Render a long list in steps, as the user scrolls. */
import { useEffect, useRef, useState } from "preact/hooks";

const STEP = 60;

/** Return how many of `total` items to render, and the ref of the last element, which adds more when it is in view. */
export function useGrowing(total: number) {
  const [count, setCount] = useState(STEP);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = end.current;
    if (!element || count >= total) return;
    const observer = new IntersectionObserver(
      (changes) => changes.some((change) => change.isIntersecting) && setCount(count + STEP),
      { rootMargin: "800px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [count, total]);
  return { count: Math.min(count, total), end };
}
