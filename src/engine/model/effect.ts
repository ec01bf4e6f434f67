import type { JsonObject } from './run.ts'

/** A change that a step requests. The engine passes it on, and reads of it what its type declares. */
export type Effect = { readonly type: string } & Readonly<JsonObject>

/** A message that an effect sends. */
export type SentMessage = { id: string; body: string | null; buttons: readonly unknown[] }

/** The parts of an effect that the engine has to know. */
interface EffectBehaviour<Request> {
  message?(effect: Request): SentMessage | null
  /** A person takes over: automation pauses until a time, or with null until it is resumed. */
  pausesAutomation?(effect: Request): { until: string | null } | null
  readonly resumesAutomation?: boolean
}

export interface EffectType extends Required<EffectBehaviour<Effect>> {}

export type EffectRegistry = ReadonlyMap<string, EffectType>

/** Registers every effect of a union: leaving one out does not compile. */
export function effectRegistry<Request extends Effect>(types: {
  [Type in Request['type']]: EffectBehaviour<Extract<Request, { type: Type }>>
}): EffectRegistry {
  const entries: [string, EffectBehaviour<Extract<Request, { type: string }>>][] = Object.entries(types)
  const defaults = { message: () => null, pausesAutomation: () => null, resumesAutomation: false }
  return new Map(entries.map(([type, effect]): [string, EffectType] => [type, { ...defaults, ...effect }]))
}
