import type { CompiledDefinition } from '../model/compiled.ts'
import type { EffectRequest } from '../model/decision.ts'
import type { Subject } from '../model/subject.ts'

/** Whether a person talks, while a mailbox is brought forward: what runs decide may change it. */
export class HumanTakeover {
  #isOn: boolean
  #isByReply: boolean

  constructor({ isPaused, isPausedByReply }: Pick<Subject, 'isPaused' | 'isPausedByReply'>) {
    this.#isOn = isPaused
    this.#isByReply = isPausedByReply
  }

  /** Whether the workflow leaves the conversation to the person. */
  holds({ settings }: CompiledDefinition): boolean {
    return this.#isOn && (settings.pauseOnHumanReply || !this.#isByReply)
  }

  note({ type }: EffectRequest['effect']): void {
    if (type === 'handoff') [this.#isOn, this.#isByReply] = [true, false]
    if (type === 'resume_automation' || type === 'close_conversation') this.#isOn = false
  }
}
