import type { Knex } from 'knex'
import { closeDatabase, openDatabase as openPool } from '../platform/database/database.ts'
import './tables.ts'

export type { Scale } from './insert-scale.ts'
export { isScenario, SCENARIOS, type ScenarioName, seedScenario } from './scenarios/index.ts'
export { toSeedId } from './seed-id.ts'
export { seedWorkspace, type SeedOptions } from './seed-workspace.ts'
export type { SeededWorkspace } from './seeded-workspace.ts'
export { defineWorkflow, type WorkflowDefinition } from '../workflow-definition.ts'
export { closeDatabase }

/** Opens a database for seeds, whose tables and columns have types. */
export function openDatabase(url: string): Knex {
  return openPool(url, { name: 'parley seeds' })
}
