const MATCHES_MAX = 3
/** Longer names are compared with none, so that comparing two names has a bounded cost. */
const NAME_LENGTH_MAX = 64
const NAMES_MAX = 500
const SLIPS_MAX = 3
/** Shortest name that suggests those that it begins or that begin it: `lang` for `language`. */
const PREFIX_LENGTH_MIN = 3

/** Finds the ids that are most similar to an unknown one, the most similar first. */
export function closestMatches(id: string, ids: Iterable<string>): string[] {
  return [...new Set(ids)]
    .map((candidate) => ({ candidate, distance: countEdits(id, candidate, Infinity) ?? Infinity }))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MATCHES_MAX)
    .map(({ candidate }) => candidate)
}

/**
 * Asks for the most similar name, if slips of the hand explain the difference: `Did you mean name?`. Only the first names
 * of a long list are compared.
 */
export function didYouMean(name: string, names: Iterable<string>): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return undefined
  const written = name.toLowerCase()
  let best: { candidate: string; slips: number } | undefined
  let left = NAMES_MAX
  for (const candidate of names) {
    if (left === 0) break
    left -= 1
    const slips = candidate.length > NAME_LENGTH_MAX ? undefined : countSlips(written, candidate.toLowerCase())
    if (slips !== undefined && slips < (best?.slips ?? Infinity)) best = { candidate, slips }
  }
  return best && `Did you mean ${best.candidate}?`
}

/** Counts the edits from one name to another; undefined if they are too many for slips. */
function countSlips(name: string, candidate: string): number | undefined {
  const [shorter, longer] = name.length < candidate.length ? [name, candidate] : [candidate, name]
  const max = Math.min(SLIPS_MAX, Math.floor((longer.length + 1) / 3))
  const edits = countEdits(name, candidate, max)
  if (edits !== undefined) return edits
  return shorter.length >= PREFIX_LENGTH_MIN && longer.startsWith(shorter) ? max : undefined
}

/**
 * Counts insertions, deletions, substitutions and exchanges of neighbours between two texts; undefined if they are more
 * than `max`. Only the cells that so many edits can reach are computed.
 */
function countEdits(a: string, b: string, max: number): number | undefined {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  let next: number[] = []
  for (let i = 1; i <= a.length; i += 1) {
    const [from, to] = [Math.max(1, i - max), Math.min(b.length, i + max)]
    let least = from === 1 ? i : Infinity
    next[from - 1] = least
    for (let j = from; j <= to; j += 1) {
      const substituted = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const exchanged = isExchange ? at(before, j - 2) + 1 : Infinity
      const edits = Math.min(substituted, exchanged, at(row, j) + 1, at(next, j - 1) + 1)
      next[j] = edits
      least = Math.min(least, edits)
    }
    if (least > max) return undefined
    if (to < b.length) next[to + 1] = Infinity
    ;[before, row, next] = [row, next, before]
  }
  const edits = at(row, b.length)
  return edits <= max ? edits : undefined
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity
}
