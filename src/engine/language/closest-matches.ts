const MATCHES_MAX = 3
/** Longer names are compared with none, so that comparing two names has a bounded cost. */
const NAME_LENGTH_MAX = 64
/** Shortest name that suggests those that it begins or that begin it: `lang` for `language`. */
const PREFIX_LENGTH_MIN = 3

/** Finds the ids that are most similar to an unknown one, the most similar first. */
export function closestMatches(id: string, ids: Iterable<string>): string[] {
  return [...new Set(ids)]
    .map((candidate) => ({ candidate, distance: editDistance(id, candidate) }))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MATCHES_MAX)
    .map(({ candidate }) => candidate)
}

/** Asks for the most similar name, if slips of the hand explain the difference: `Did you mean name?`. */
export function didYouMean(name: string, names: Iterable<string>): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return undefined
  let best: { candidate: string; distance: number } | undefined
  for (const candidate of names) {
    if (candidate.length > NAME_LENGTH_MAX) continue
    const distance = countSlips(name.toLowerCase(), candidate.toLowerCase())
    if (distance !== undefined && distance < (best?.distance ?? Infinity)) best = { candidate, distance }
  }
  return best && `Did you mean ${best.candidate}?`
}

/** Counts the edits from one name to another; undefined if they are too many for slips. */
function countSlips(name: string, candidate: string): number | undefined {
  const [shorter, longer] = name.length < candidate.length ? [name, candidate] : [candidate, name]
  const max = Math.floor((longer.length + 1) / 3)
  const distance = longer.length - shorter.length > max ? undefined : editDistance(name, candidate)
  if (distance !== undefined && distance <= max) return distance
  return shorter.length >= PREFIX_LENGTH_MIN && longer.startsWith(shorter) ? max : undefined
}

/** Counts insertions, deletions, substitutions and exchanges of neighbours between two texts. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const exchanged = isExchange ? (before[j - 2] ?? 0) + 1 : Infinity
      next.push(Math.min(substituted, exchanged, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
