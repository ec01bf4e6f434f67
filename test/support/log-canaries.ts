import { createLogger, type Logger } from '../../src/platform/log.ts'

/** Personal data and secrets as the factories write them; anything that looks like an address or a phone number. */
const CANARIES = [
  /[\w.+-]+@[a-z0-9-]+\.[a-z]+/i,
  /\+\d{8,15}/,
  /prl_[0-9A-Za-z]{36}/,
  /correct horse|access-token|verify-token|session_token|canary/i,
]
const KEPT_MAX = 20

const violations: string[] = []

/** Finds the first canary in a text. */
export function findCanary(text: string): string | undefined {
  return CANARIES.map((canary) => canary.exec(text)?.[0]).find((match) => match !== undefined)
}

/** Checks the lines of a log; the whole test run fails after its last test if one contains a canary. */
export function checkLogLines(text: string): void {
  if (findCanary(text) === undefined) return
  const lines = text.split('\n').filter((line) => findCanary(line) !== undefined)
  violations.push(...lines.slice(0, KEPT_MAX - violations.length))
}

/** The most verbose logger, each line of which is checked. `print` also receives the lines. */
export function createCheckedLogger(print?: (line: string) => void): Logger {
  return createLogger('trace', {
    write(line) {
      checkLogLines(line)
      print?.(line)
    },
  })
}

/** @throws Error if a line of any log so far contains a canary */
export function assertCleanLogs(): void {
  if (violations.length > 0) throw new Error(`Log lines contain personal data:\n${violations.join('\n')}`)
}
