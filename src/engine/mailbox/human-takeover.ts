import type { CompiledDefinition } from '../model/compiled.ts'
import type { PlacedEffect } from '../model/decision.ts'
import type { Party } from '../model/subject.ts'

/** Whether a person talks, while a mailbox is brought forward: what runs decide may change it. */
export class Pause {
  #isOn: boolean
  #isByReply: boolean

  constructor({ isPaused, isPausedByReply }: Pick<Party, 'isPaused' | 'isPausedByReply'>) {
    this.#isOn = isPaused
    this.#isByReply = isPausedByReply
  }

  /** Whether the workflow leaves the conversation to the person. */
  holds({ settings }: CompiledDefinition): boolean {
    return this.#isOn && (settings.pauseOnHumanReply || !this.#isByReply)
  }

  note({ type }: PlacedEffect['effect']): void {
    if (type === 'handoff') [this.#isOn, this.#isByReply] = [true, false]
    if (type === 'resume_automation' || type === 'close_conversation') this.#isOn = false
  }
}
