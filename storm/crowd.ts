import { setTimeout as delay } from 'node:timers/promises'
import { playCustomer } from './customers.ts'
import type { Dialogue } from './dialogue.ts'
import type { Boundary } from './failpoints.ts'
import type { Customer, Population } from './population.ts'
import type { PostOffice } from './post-office.ts'
import type { Random } from './random.ts'
import type { Workspace } from './workspace.ts'

const PACE_MS = 25

/** Everybody who writes to the workspaces. They come one after the other, and some more when they are called. */
export class Crowd {
  readonly #office: PostOffice
  readonly #workspaces: Workspace[]
  readonly #population: Population
  readonly #random: Random
  readonly #playing: Promise<void>[] = []

  constructor(given: { office: PostOffice; workspaces: Workspace[]; population: Population; random: Random }) {
    this.#office = given.office
    this.#workspaces = given.workspaces
    this.#population = given.population
    this.#random = given.random
  }

  /** Lets so many in, of whom at any time as great a share has begun as is asked for. Resolves when all are done. */
  async play(count: number, share: () => number): Promise<void> {
    for (let begun = 0; begun < count; begun += 1) {
      while (begun >= share() * count) await delay(10)
      this.#begin(this.#population.next())
      await delay(PACE_MS)
    }
    while (this.#playing.length > 0) await Promise.all(this.#playing.splice(0))
  }

  /** Lets one more in, whose conversation passes the boundary. */
  call(boundary: Boundary): void {
    this.#begin(this.#population.next((dialogue) => passes(dialogue, boundary)))
  }

  #begin(customer: Customer): void {
    const workspace = this.#random.pick(this.#workspaces)
    workspace.customers.push(customer)
    this.#playing.push(playCustomer(this.#office, workspace, customer))
  }
}

/** Every conversation is stored, advanced and answered; only some of them wait or call outside. */
function passes({ features }: Dialogue, boundary: Boundary): boolean {
  if (boundary.includes('effect')) return features.includes('effects')
  return !boundary.includes('wake') || features.includes('waits')
}
