/** <adopted-style>: a style element whose rules the Content-Security-Policy allows, because a script constructs them. */

class AdoptedStyle extends HTMLElement {
  private readonly rules = new CSSStyleSheet();

  override set textContent(css: string) {
    this.rules.replaceSync(css);
  }

  connectedCallback(): void {
    this.hidden = true;
    document.adoptedStyleSheets.push(this.rules);
  }

  disconnectedCallback(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.rules);
  }
}

/** Register the element, which xterm.js creates instead of style elements. */
export function defineAdoptedStyle(): void {
  if (!customElements.get("adopted-style")) customElements.define("adopted-style", AdoptedStyle);
}
