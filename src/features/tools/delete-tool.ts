import { Tool as ToolRow } from '../../models/automation/tool.ts'
import type { Scope } from '../../scope.ts'
import type { ToolRef } from './schema.ts'
import { assertNotBuiltin } from './queries.ts'

export function deleteTool(scope: Scope, { id }: ToolRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    assertNotBuiltin(id)
    await tx.lock(ToolRow, id)
    await tx.query(ToolRow).delete().where('id', id)
    return {}
  })
}
