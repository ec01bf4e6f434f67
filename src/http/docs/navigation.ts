import { ERRORS_PATH } from '../../error-codes/index.ts'
import { DOCS_PATH } from '../paths.ts'
import type { ProjectDocument } from './documents.ts'
import type { NavigationGroup } from './layout.ts'

/** The pages in the order of reading. Documents that are missing here are listed at the end. */
const GROUPS: { title: string; paths: string[] }[] = [
  { title: 'Learn', paths: ['/docs/tutorial', '/docs/console', '/docs/recipes', '/docs/glossary'] },
  {
    title: 'Use',
    paths: [
      DOCS_PATH,
      ERRORS_PATH,
      '/docs/api',
      '/docs/workflow-language',
      '/docs/workflow-files',
      '/docs/client',
      '/docs/webhooks',
      '/docs/assistants',
      '/docs/access',
      '/docs/whatsapp',
      '/docs/real-number',
    ],
  },
  {
    title: 'Operate',
    paths: ['/docs/operations', '/docs/scale-out', '/docs/performance', '/docs/seeds'],
  },
  { title: 'Understand', paths: ['/docs/architecture', '/docs/adr'] },
]

/** Pages without a document. */
const BUILT_TITLES: [path: string, title: string][] = [
  [DOCS_PATH, 'API reference'],
  [ERRORS_PATH, 'Errors'],
]

/** Lists the pages; decision records are listed on a page of their own. */
export function buildNavigation(documents: readonly ProjectDocument[]): NavigationGroup[] {
  const titles = new Map([...BUILT_TITLES, ...documents.map(({ path, title }) => [path, shorten(title)] as const)])
  const toPage = (path: string) => ({ path, title: titles.get(path) ?? '' })
  const listed = new Set(GROUPS.flatMap(({ paths }) => paths))
  const others = [...titles.keys()].filter((path) => !listed.has(path) && !path.startsWith('/docs/adr/'))
  const last = GROUPS.length - 1
  return GROUPS.map(({ title, paths }, index) => ({
    title,
    pages: [...paths, ...(index === last ? others : [])].filter((path) => titles.has(path)).map(toPage),
  }))
}

/** Returns the title up to its colon. */
function shorten(title: string): string {
  return title.split(':')[0] ?? title
}
