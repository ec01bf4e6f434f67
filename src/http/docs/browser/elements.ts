type Attributes = Record<string, string | boolean | undefined>
export type Child = Node | string | undefined | Child[]

/** Creates an element. Texts become text nodes, never HTML; attributes that are false or undefined are left out. */
export function create<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...toNodes(children))
  return element
}

function toNodes(children: Child[]): (Node | string)[] {
  return children.flatMap((child) => (Array.isArray(child) ? toNodes(child) : child === undefined ? [] : [child]))
}

/** Finds an element that the page always has. */
export function find<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, id: string): HTMLElementTagNameMap[Tag] {
  const element = document.querySelector<HTMLElementTagNameMap[Tag]>(`${tag}#${id}`)
  if (!element) throw new Error(`The page has no ${tag} with the id ${id}`)
  return element
}

/** Converts the marks of code in a text, and addresses to links. */
export function toInline(text: string): Child[] {
  return text.split(/(`[^`]+`|\[[^\]]+\]\(https:[^)\s]+\))/).map((part) => {
    const link = /^\[([^\]]+)\]\((.+)\)$/.exec(part)
    if (link) return create('a', { href: link[2] }, link[1])
    return part.startsWith('`') ? create('code', {}, part.slice(1, -1)) : part
  })
}

/** Creates closed details, whose contents are built when they are opened first. */
export function createLazyDetails(title: Child, build: () => Child): HTMLDetailsElement {
  const details = create('details', {}, create('summary', {}, title))
  details.addEventListener('toggle', () => details.append(...toNodes([build()])), { once: true })
  return details
}

/** Creates a block of code that scrolls and can be copied. */
export function createCode(text: string): HTMLElement {
  const block = create('pre', { tabindex: '0' }, create('code', {}, text))
  return create(
    'div',
    { class: 'code' },
    block,
    createCopyButton(() => text),
  )
}

const COPIED_MS = 1500

/** Creates a button that copies a text. */
export function createCopyButton(readText: () => string, label = 'Copy'): HTMLButtonElement {
  const button = create('button', { type: 'button', class: 'copy' }, label)
  button.addEventListener('click', async () => {
    button.textContent = (await copy(readText())) ? 'Copied' : 'Not copied'
    setTimeout(() => (button.textContent = label), COPIED_MS)
  })
  return button
}

/** Browsers offer the clipboard to pages of https and of this machine only, and the older command to all. */
async function copy(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const area = create('textarea', {}, text)
  document.body.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  return isCopied
}
