/** A part of a JSON text, with the parts of an object or a list by name or index. */
export type JsonPlace = { start: number; end: number; entries: ReadonlyMap<string, JsonPlace> }
/** The reason why a text is no JSON, and where. */
export type JsonProblem = { at: number; reason: string }

const DEPTH_MAX = 200

/** Finds where the parts of a JSON text are, or where it is wrong, which the browsers do not say in each case. */
export function readPlaces(text: string): JsonPlace | JsonProblem {
  try {
    const reader = new Reader(text)
    const root = reader.readValue(0)
    reader.skipSpace()
    return reader.at < text.length ? { at: reader.at, reason: 'there is something after the end' } : root
  } catch (error) {
    if (error instanceof Misplaced) return { at: error.at, reason: error.message }
    throw error
  }
}

class Misplaced extends Error {
  readonly at: number

  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
  }
}

const NO_ENTRIES: ReadonlyMap<string, JsonPlace> = new Map()
const SPACE = /[ \t\r\n]*/y
const SCALAR =
  /"(?:[^"\\\n\r\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

class Reader {
  at = 0
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  skipSpace(): void {
    SPACE.lastIndex = this.at
    SPACE.exec(this.text)
    this.at = SPACE.lastIndex
  }

  readValue(depth: number): JsonPlace {
    this.skipSpace()
    if (depth > DEPTH_MAX) throw new Misplaced(this.at, 'it is nested too deeply')
    const start = this.at
    const first = this.text[start]
    if (first === '{') return { start, entries: this.readList('}', depth, true), end: this.at }
    if (first === '[') return { start, entries: this.readList(']', depth, false), end: this.at }
    this.#readScalar('a value is missing')
    return { start, end: this.at, entries: NO_ENTRIES }
  }

  readList(closing: string, depth: number, isObject: boolean): ReadonlyMap<string, JsonPlace> {
    const entries = new Map<string, JsonPlace>()
    this.at++
    this.skipSpace()
    if (this.text[this.at] === closing) {
      this.at++
      return entries
    }
    for (;;) {
      const name = isObject ? this.#readName() : String(entries.size)
      entries.set(name, this.readValue(depth + 1))
      this.skipSpace()
      const next = this.text[this.at]
      if (next !== ',' && next !== closing) throw this.#missing(`a comma or "${closing}"`)
      this.at++
      if (next === closing) return entries
    }
  }

  #readName(): string {
    this.skipSpace()
    const start = this.at
    if (this.text[start] !== '"') throw this.#missing('a name in double quotes')
    this.#readScalar('the name has no closing quote')
    const name: unknown = JSON.parse(this.text.slice(start, this.at))
    this.skipSpace()
    if (this.text[this.at] !== ':') throw this.#missing('":" after a name')
    this.at++
    return String(name)
  }

  #readScalar(reason: string): void {
    SCALAR.lastIndex = this.at
    if (!SCALAR.test(this.text)) {
      const isText = this.text[this.at] === '"'
      throw isText
        ? new Misplaced(this.at, 'a text is not closed or has a character that must be escaped')
        : this.at >= this.text.length
          ? new Misplaced(this.at, 'it ends too early')
          : new Misplaced(this.at, reason)
    }
    this.at = SCALAR.lastIndex
  }

  #missing(what: string): Misplaced {
    return new Misplaced(this.at, this.at >= this.text.length ? 'it ends too early' : `${what} is missing`)
  }
}

export function isPlace(found: JsonPlace | JsonProblem): found is JsonPlace {
  return 'start' in found
}

/** Finds a step by its ID in the lists of steps. */
export function findStepPlace(text: string, stepId: string): JsonPlace | undefined {
  const root = readPlaces(text)
  const pending = isPlace(root) ? [root.entries.get('steps')] : []
  for (let list = pending.shift(); list !== undefined || pending.length > 0; list = pending.shift()) {
    for (const step of list?.entries.values() ?? []) {
      const id = step.entries.get('id')
      if (id && text.slice(id.start, id.end) === JSON.stringify(stepId)) return step
      pending.push(step.entries.get('steps'))
    }
  }
  return undefined
}

/** Finds the part at a path such as `steps.2.message`, or the smallest part around it. */
export function findPathPlace(text: string, path: string): JsonPlace | undefined {
  const root = readPlaces(text)
  let place = isPlace(root) ? root : undefined
  for (const name of path.split('.')) {
    const next = place?.entries.get(name)
    if (!next) break
    place = next
  }
  return place
}

/** The line and the column of a character, counted from 1. */
export function toLine(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  return { line, column: at - before.lastIndexOf('\n') }
}
