import type { Dialogue } from './scenario.ts'
import { DIALOGUES } from './scenarios.ts'
import type { Random } from './random.ts'

export type Line = { wamid: string; body: string }

export type Customer = {
  /** Without its plus. */
  phone: string
  dialogue: Dialogue
  lines: Line[]
  random: Random
}

/** Makes up people and what they will write: the same for the same random numbers. */
export class Population {
  readonly #random: Random
  #count = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** One more, whose conversation is among those that are wanted. */
  next(isWanted: (dialogue: Dialogue) => boolean = () => true): Customer {
    const deck = DIALOGUES.filter(isWanted).flatMap((dialogue) => Array<Dialogue>(dialogue.share).fill(dialogue))
    const dialogue = this.#random.pick(deck)
    const number = this.#count
    this.#count += 1
    return {
      phone: `49151${String(number).padStart(8, '0')}`,
      dialogue,
      lines: dialogue.lines.map((body, line) => ({ wamid: `wamid.storm.${number}.${line}`, body })),
      random: this.#random.fork(),
    }
  }
}
