const FOLDED_MAX = 125_251
/** Units of the work budget for each, as upper bounds of what RE2JS takes on a busy machine. */
const PATTERN_WORK = 200
const CHARACTER_WORK = 20
const INSTRUCTION_WORK = 40
const UNICODE_CLASS_WORK = 5000
const FOLDED_WORK = 1

const REPEAT = /\{(\d+)(?:,(\d*))?\}/y
const ESCAPE = /\\(?:[pP](?:\{[^}]*\}|.)|x(?:\{[^}]*\}|..)|[^])/suy
const POSIX_CLASS = /\[:.*?:\]/suy
const PARENTHESIS = /\((?:\?[a-zA-Z-]*:|\?P?<[^>]*>)?/y
const IGNORES_CASE = /\(\?[a-zA-Z-]*i/

/** A part of an expression: instructions of its finished atoms, and of the last one, which a repetition multiplies. */
type Part = { done: number; last: number }

/** Estimates the instructions of a compiled expression, and the work of compiling it, in time linear in its length. */
export function estimatePattern(source: string): { instructions: number; work: number } {
  const ignoresCase = IGNORES_CASE.test(source)
  const outer: Part[] = []
  let part: Part = { done: 0, last: 0 }
  let classWork = 0
  const add = (size: number) => {
    part.done += part.last
    part.last = size
  }
  let at = 0
  while (at < source.length) {
    const character = source.charAt(at)
    const repeat = character === '{' ? matchAt(REPEAT, source, at) : null
    if (repeat) {
      part.last = (part.last + 1) * Math.max(1, Number(repeat[1]), Number(repeat[2] || 0))
      at += repeat[0].length
    } else if (source.startsWith('\\Q', at)) {
      const end = source.indexOf('\\E', at)
      const length = (end < 0 ? source.length : end) - at
      add(length)
      // Only the last character is repeated, and counting all is an upper bound.
      at += length + 2
    } else if (character === '\\') {
      const escape = matchAt(ESCAPE, source, at)?.[0] ?? character
      classWork += measureEscape(escape)
      add(1)
      at += escape.length
    } else if (character === '[') {
      const found = readClass(source, at, ignoresCase)
      classWork += found.work
      add(1)
      at = found.end
    } else if (character === '(') {
      outer.push(part)
      const opening = matchAt(PARENTHESIS, source, at)?.[0] ?? character
      part = { done: opening.endsWith(':') ? 0 : 2, last: 0 }
      at += opening.length
    } else if (character === ')') {
      const size = part.done + part.last
      part = outer.pop() ?? { done: 0, last: 0 }
      add(size)
      at += 1
    } else {
      // An operator belongs to the atom before it.
      if ('*+?'.includes(character)) part.last += 1
      else add(1)
      at += 1
    }
  }
  const instructions = [...outer, part].reduce((sum, { done, last }) => sum + done + last, 4)
  const work = PATTERN_WORK + source.length * CHARACTER_WORK + instructions * INSTRUCTION_WORK + classWork
  return { instructions, work }
}

/** Reads the class of characters that begins at an index. */
function readClass(source: string, start: number, ignoresCase: boolean): { work: number; end: number } {
  let at = source.startsWith('[^', start) ? start + 2 : start + 1
  const first = at
  let work = 0
  let low: number | null = null
  while (at < source.length && (source.charAt(at) !== ']' || at === first)) {
    const posix = source.startsWith('[:', at) ? matchAt(POSIX_CLASS, source, at)?.[0] : undefined
    const entry = posix ?? matchAt(ESCAPE, source, at)?.[0] ?? String.fromCodePoint(source.codePointAt(at) ?? 0)
    work += measureEscape(entry)
    at += entry.length
    const isRange: boolean = low !== null
    if (isRange && ignoresCase) work += FOLDED_WORK * Math.max(0, readHighest(entry) - (low ?? 0))
    const startsRange: boolean = !isRange && source.charAt(at) === '-' && source.charAt(at + 1) !== ']'
    low = startsRange ? readLowest(entry) : null
    if (startsRange) at += 1
  }
  return { work, end: at + 1 }
}

function measureEscape(entry: string): number {
  return /^\\p/iu.test(entry) ? UNICODE_CLASS_WORK : 0
}

/** The lowest character that an entry of a class may stand for: escapes are not decoded. */
function readLowest(entry: string): number {
  return entry.startsWith('\\') ? 0 : (entry.codePointAt(0) ?? 0)
}

function readHighest(entry: string): number {
  return entry.startsWith('\\') ? FOLDED_MAX : Math.min(FOLDED_MAX, entry.codePointAt(0) ?? 0)
}

function matchAt(expression: RegExp, source: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at
  return expression.exec(source)
}
