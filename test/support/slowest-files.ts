/** The line before the slowest files, without its indent. */
export const SLOWEST_FILES_TITLE = 'Slowest files:'

const COUNT = 10
const LINE = /^ {4}(\d+\.\d) s {2}(\S+\.test\.ts)$/

/** Writes the files that took longest, given the milliseconds of each, one per line. */
export function formatSlowestFiles(times: Map<string, number>): string {
  const slowest = [...times].toSorted(([, a], [, b]) => b - a).slice(0, COUNT)
  const lines = slowest.map(([file, ms]) => `    ${(ms / 1000).toFixed(1)} s  ${file}`)
  return [`  ${SLOWEST_FILES_TITLE}`, ...lines, ''].join('\n')
}

/** Reads a line of `formatSlowestFiles`: a file and its milliseconds. */
export function readSlowFile(line: string): [file: string, ms: number] | undefined {
  const [, seconds, file] = LINE.exec(line) ?? []
  return file === undefined ? undefined : [file, Number(seconds) * 1000]
}
