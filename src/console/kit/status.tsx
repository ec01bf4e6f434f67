type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'plain'

/** Statuses of runs, steps, messages, workflows, broadcasts and recipients. Each word has the same meaning everywhere. */
const TONES: Readonly<Record<string, Tone>> = {
  completed: 'good',
  published: 'good',
  delivered: 'good',
  read: 'good',
  played: 'good',
  sent: 'good',
  passed: 'good',
  failed: 'bad',
  expired: 'bad',
  unknown: 'bad',
  paused: 'warn',
  waiting: 'warn',
  scheduled: 'warn',
  skipped: 'warn',
  running: 'busy',
  queued: 'busy',
  sending: 'busy',
  preparing: 'busy',
}

export function toTone(status: string): Tone {
  return TONES[status] ?? 'plain'
}

/** A status as a dot, a word and a color. */
export function Status({ status, label }: { status: string; label?: string }) {
  return <span className={`status tone-${toTone(status)}`}>{label ?? status.replaceAll('_', ' ')}</span>
}
