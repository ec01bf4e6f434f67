import type { Document } from '../../openapi/document.ts'
import { findSession, prepareAccess } from './access.ts'
import { refreshSnippets } from './call-form.ts'
import { type Child, create, find } from './elements.ts'
import { foldMenus } from './menus.ts'
import { viewEvent, viewOperation } from './operation-view.ts'

const introduction = [...find('article', 'operation').childNodes]
const title = document.title
let loaded: Promise<Document> | undefined

/** Loads the OpenAPI document when it is needed first. */
function load(): Promise<Document> {
  return (loaded ??= fetch('/openapi.json').then((response) => {
    if (!response.ok) throw new Error(`The OpenAPI document was not loaded: status ${response.status}`)
    return response.json()
  }))
}

/** Finds the link of the operation with an ID. */
function findLink(id: string): HTMLAnchorElement | undefined {
  const links = document.querySelectorAll<HTMLAnchorElement>('.operations li a')
  return [...links].find((link) => link.hash === `#${id}`)
}

/** Shows the operation that the fragment names, or opens the group that it names. */
async function show(): Promise<void> {
  const id = decodeURIComponent(location.hash.slice(1))
  const link = findLink(id)
  for (const other of document.querySelectorAll('.operations [aria-current]')) other.removeAttribute('aria-current')
  const group = link?.closest('details') ?? document.querySelector(`.operations details[id="${CSS.escape(id)}"]`)
  if (group) group.setAttribute('open', '')
  if (!link) {
    if (id === '') replace(introduction, title)
    return
  }
  link.setAttribute('aria-current', 'true')
  const article = find('article', 'operation')
  article.setAttribute('aria-busy', 'true')
  try {
    const openApi = await load()
    // Another operation may have been chosen meanwhile.
    if (location.hash.slice(1) !== id) return
    replace(build(id, link.dataset['procedure'], openApi), `${link.textContent} – Parley`)
  } catch (error) {
    loaded = undefined
    replace(create('p', { class: 'failure' }, String(error)), title)
  }
  article.removeAttribute('aria-busy')
  void findSession(refreshSnippets)
}

function build(id: string, kind: string | undefined, openApi: Document): Child {
  for (const [path, methods] of Object.entries(openApi.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId === id) return viewOperation({ method, path, operation, kind }, openApi)
    }
  }
  const event = Object.values(openApi.webhooks ?? {}).find(({ post }) => post.operationId === id)
  return event ? viewEvent(event.post, openApi) : 'The document has no such operation.'
}

function replace(contents: Child, pageTitle: string): void {
  const article = find('article', 'operation')
  article.replaceChildren(...create('div', {}, contents).childNodes)
  document.title = pageTitle
  if (location.hash !== '') {
    article.focus({ preventScroll: true })
    article.scrollIntoView({ block: 'start' })
  }
}

/** Shows the operations that contain all words of the filter. */
function filter(): void {
  const words = find('input', 'filter').value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  for (const group of document.querySelectorAll<HTMLDetailsElement>('.operations details')) {
    let hasMatch = false
    for (const link of group.querySelectorAll<HTMLAnchorElement>('li a')) {
      const text = `${link.textContent} ${link.title} ${link.hash}`.toLowerCase()
      const isMatch = words.every((word) => text.includes(word))
      if (link.parentElement) link.parentElement.hidden = !isMatch
      hasMatch ||= isMatch
      count += Number(isMatch)
    }
    group.hidden = !hasMatch
    group.open = words.length > 0 ? hasMatch : group.querySelector('[aria-current]') !== null
  }
  find('p', 'matches').textContent = words.length > 0 ? `${count} found` : ''
}

foldMenus()
prepareAccess(refreshSnippets)
find('input', 'filter').addEventListener('input', filter)
addEventListener('hashchange', () => void show())
void show()
