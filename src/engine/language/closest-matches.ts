const MATCHES_MAX = 3

/** Finds the ids that are most similar to an unknown one, the most similar first. */
export function closestMatches(id: string, ids: Iterable<string>): string[] {
  return [...new Set(ids)]
    .map((candidate) => ({ candidate, distance: editDistance(id, candidate) }))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MATCHES_MAX)
    .map(({ candidate }) => candidate)
}

/** Levenshtein distance between two texts. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
