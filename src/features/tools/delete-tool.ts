import { Tool as ToolRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import type { ToolRef } from './schema.ts'
import { assertNotBuiltin } from './queries.ts'

export function deleteTool(scope: Scope, { toolId }: ToolRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    assertNotBuiltin(toolId)
    await tx.lock(ToolRow, toolId)
    await tx.query(ToolRow).delete().where('id', toolId)
    return {}
  })
}
