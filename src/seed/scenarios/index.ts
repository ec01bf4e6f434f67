import type { Knex } from 'knex'
import { type SeedOptions, seedWorkspace } from '../seed-workspace.ts'
import type { SeededWorkspace } from '../seeded-workspace.ts'
import { playClinic } from './clinic.ts'
import { playSchool } from './school.ts'
import { playShop } from './shop.ts'

type Scenario = Omit<SeedOptions, 'key'> & { play: (workspace: SeededWorkspace) => Promise<void> }

const SETTINGS = {
  clinic: { name: 'Clínica Sol', timezone: 'Europe/Madrid', country: 'ES', play: playClinic },
  shop: { name: 'Harbour Books', timezone: 'Europe/London', country: 'GB', play: playShop },
  school: { name: 'Linden School', timezone: 'Europe/Berlin', country: 'DE', play: playSchool },
} satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof SETTINGS

export const SCENARIOS: readonly string[] = Object.keys(SETTINGS)

export function isScenario(name: string): name is ScenarioName {
  return SCENARIOS.includes(name)
}

/**
 * Creates the workspace of a scenario, unless it exists: the same people, workflows and messages each time, as of now.
 * `options` may add a scale or an owner.
 */
export function seedScenario(
  knex: Knex,
  name: ScenarioName,
  options: Partial<SeedOptions> = {},
): ReturnType<typeof seedWorkspace> {
  const { play, ...settings } = SETTINGS[name]
  return seedWorkspace(knex, { key: name, ...settings, ...options }, play)
}
