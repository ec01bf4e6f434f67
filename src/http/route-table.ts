import type { Method } from '../trpc/rest.ts'

type Route<T> = { names: string[]; target: T }

/** The part of the table below a prefix of segments. */
type Node<T> = {
  fixed: Map<string, Node<T>>
  parameter: Node<T> | undefined
  routes: Map<string, Route<T>>
}

export type Match<T> = { target: T; params: Record<string, string> }

/** Paths and methods of the REST API. A path is matched segment by segment; fixed segments precede parameters. */
export class RouteTable<T> {
  readonly #root: Node<T> = createNode()

  /** Adds a path such as `/api/contacts/{contactId}`. A path with GET also takes HEAD. */
  add(method: Method, path: string, target: T): void {
    const names: string[] = []
    let node = this.#root
    for (const segment of path.split('/')) {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1]
      if (name === undefined) {
        const next = node.fixed.get(segment) ?? createNode()
        node.fixed.set(segment, next)
        node = next
      } else {
        names.push(name)
        node = node.parameter ??= createNode()
      }
    }
    if (method === 'GET') node.routes.set('HEAD', { names, target })
    node.routes.set(method, { names, target })
  }

  /** Finds the route of a request; otherwise the methods that the path takes, which is empty for an unknown path. */
  match(method: string, path: string): Match<T> | { allowed: string[] } {
    const allowed: string[] = []
    const found = find(this.#root, { method, segments: path.split('/'), values: [], allowed })
    return found ?? { allowed: [...new Set(allowed)] }
  }
}

function createNode<T>(): Node<T> {
  return { fixed: new Map(), parameter: undefined, routes: new Map() }
}

type Search = { method: string; segments: string[]; values: string[]; allowed: string[] }

function find<T>(node: Node<T>, search: Search, index = 0): Match<T> | undefined {
  const { method, segments, values, allowed } = search
  const segment = segments[index]
  if (segment === undefined) {
    const route = node.routes.get(method)
    if (route) return { target: route.target, params: toParams(route.names, values) }
    allowed.push(...node.routes.keys())
    return undefined
  }
  const next = node.fixed.get(segment)
  const found = next && find(next, search, index + 1)
  if (found || !node.parameter || segment === '') return found
  values.push(segment)
  const match = find(node.parameter, search, index + 1)
  values.pop()
  return match
}

function toParams(names: string[], values: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}
