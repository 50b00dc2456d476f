/** The logo of virtshape. */
export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg class="logo" viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <path d="M7 9h8v6H7zM7 17h8v6H7zM17 9h8v14h-8z" class="logo-shape" />
    </svg>
  );
}
