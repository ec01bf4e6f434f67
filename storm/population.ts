import type { Dialogue } from './dialogue.ts'
import { DIALOGUES } from './dialogues.ts'
import type { Random } from './random.ts'

export type Line = { wamid: string; body: string }

export type Customer = {
  /** Without its plus. */
  phone: string
  dialogue: Dialogue
  lines: Line[]
  random: Random
}

/** Who will write what, decided before anything begins. The same for the same random numbers. */
export function populate(random: Random, count: number): Customer[] {
  const deck = DIALOGUES.flatMap((dialogue) => Array<Dialogue>(dialogue.share).fill(dialogue))
  return Array.from({ length: count }, (_, index) => {
    const dialogue = random.pick(deck)
    const lines = dialogue.lines.map((body, line) => ({ wamid: `wamid.storm.${index}.${line}`, body }))
    return { phone: `49151${String(index).padStart(8, '0')}`, dialogue, lines, random: random.fork() }
  })
}
