import type { Random } from './random.ts'
import type { Scenario } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'

export type CustomerMessage = { wamid: string; body: string }

export type Customer = {
  /** Phone number without the leading plus. */
  phone: string
  scenario: Scenario
  messages: CustomerMessage[]
  random: Random
}

/** Creates simulated customers; the same random numbers give the same customers. */
export class CustomerFactory {
  readonly #random: Random
  #count = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** Creates a customer with one of the scenarios that match the filter, chosen by weight. */
  create(filter: (scenario: Scenario) => boolean = () => true): Customer {
    const candidates = SCENARIOS.filter(filter).flatMap((scenario) => Array<Scenario>(scenario.weight).fill(scenario))
    return this.createFor(this.#random.pick(candidates))
  }

  createFor(scenario: Scenario): Customer {
    const number = this.#count
    this.#count += 1
    return {
      phone: `49151${String(number).padStart(8, '0')}`,
      scenario,
      messages: scenario.messages.map((body, index) => ({ wamid: `wamid.chaos.${number}.${index}`, body })),
      random: this.#random.fork(),
    }
  }
}
