import type { Settings } from '../language/definition/settings.ts'
import type { Effect, EffectRegistry } from '../model/effect.ts'
import type { Subject } from '../model/subject.ts'

/** Tracks, while a mailbox is processed, if a person has taken over: effects of runs may change it. */
export class HumanTakeover {
  readonly #effects: EffectRegistry
  #isPaused: boolean
  #isByReply: boolean

  constructor({ isPaused, isPausedByReply }: Pick<Subject, 'isPaused' | 'isPausedByReply'>, effects: EffectRegistry) {
    this.#effects = effects
    this.#isPaused = isPaused
    this.#isByReply = isPausedByReply
  }

  /** True if a workflow with these settings must neither start nor continue. */
  isPausedFor({ pauseOnHumanReply }: Settings): boolean {
    return this.#isPaused && (pauseOnHumanReply || !this.#isByReply)
  }

  apply(effect: Effect): void {
    const type = this.#effects.get(effect.type)
    if (type?.resumesAutomation) this.#isPaused = false
    if (!type?.pausesAutomation(effect)) return
    this.#isPaused = true
    this.#isByReply = false
  }
}
