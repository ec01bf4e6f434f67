import { InvalidError } from './errors.ts'

/** Objects, lists and values of one input together. */
export const NODES_MAX = 100_000
export const DEPTH_MAX = 64
/** Names of objects beyond the first hundred of each, together. Such an object is a hash table, which costs far more. */
export const WIDE_NAMES_MAX = 20_000
const NARROW_NAMES = 100

/**
 * Rejects parsed JSON that would be expensive to process. Iterative, so that no input exhausts the stack, and stops at
 * the limit, so that it costs at most `NODES_MAX` visits. An object that is reachable in several ways counts each time.
 * @throws InvalidError `input_too_complex`
 */
export function assertBounded(value: unknown, nodesMax = NODES_MAX): void {
  const pending: { value: unknown; depth: number }[] = [{ value, depth: 0 }]
  let nodes = 0
  let wideNames = 0
  for (let next = pending.pop(); next; next = pending.pop()) {
    nodes += 1
    if (nodes + pending.length > nodesMax) throw tooComplex(`has more than ${nodesMax} values`)
    if (typeof next.value !== 'object' || next.value === null) continue
    if (next.depth === DEPTH_MAX) throw tooComplex(`is nested deeper than ${DEPTH_MAX} levels`)
    const depth = next.depth + 1
    const children = Array.isArray(next.value) ? next.value : Object.values(next.value)
    if (!Array.isArray(next.value)) wideNames += Math.max(0, children.length - NARROW_NAMES)
    if (wideNames > WIDE_NAMES_MAX) throw tooManyNames()
    if (nodes + pending.length + children.length > nodesMax) throw tooComplex(`has more than ${nodesMax} values`)
    for (const child of children) pending.push({ value: child, depth })
  }
}

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = Buffer.from('"\\,:[{]}')

/** Counts of one input that are shared by the JSON texts within it. */
export type TextCounts = { nodes: number; wideNames: number }

/**
 * Rejects JSON text with too many values or names before it is parsed: creating millions of values takes a second. Counts
 * the commas, colons and brackets outside of strings, in one pass over the bytes. Texts of one input share their `counts`.
 * @throws InvalidError `input_too_complex`
 */
export function assertBoundedText(json: Buffer, counts: TextCounts = { nodes: 0, wideNames: 0 }): void {
  counts.nodes += 1
  let isString = false
  /** Names so far of the containers that are open. */
  const names = [0]
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index]
    if (isString) {
      if (byte === BACKSLASH) index += 1
      else if (byte === QUOTE) isString = false
    } else if (byte === QUOTE) {
      isString = true
    } else if (byte === COLON) {
      const count = (names.pop() ?? 0) + 1
      names.push(count)
      if (count > NARROW_NAMES && (counts.wideNames += 1) > WIDE_NAMES_MAX) throw tooManyNames()
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      names.pop()
    } else if (byte === COMMA || byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (byte !== COMMA) names.push(0)
      counts.nodes += 1
      // A container within a list counts twice: by its bracket and by its comma.
      if (counts.nodes > NODES_MAX * 2) throw tooComplex(`has more than ${NODES_MAX} values`)
    }
  }
}

function tooManyNames(): InvalidError {
  return tooComplex(`has more than ${WIDE_NAMES_MAX} names in objects with more than ${NARROW_NAMES} names`)
}

function tooComplex(reason: string): InvalidError {
  return new InvalidError(`The input ${reason}`, undefined, 'input_too_complex')
}
