import { Tool as ToolRow } from '../../models/tool.ts'
import { given } from '../../platform/given.ts'
import { refuseTakenName } from '../../platform/taken-name.ts'
import type { Scope } from '../../scope.ts'
import type { Tool, UpdateTool } from './schema.ts'
import { getTool, refuseBuiltin, refuseBuiltinName } from './tool-rows.ts'

export async function updateTool(scope: Scope, { id, ...columns }: UpdateTool): Promise<Tool> {
  refuseBuiltin(id)
  refuseBuiltinName(columns.name)
  return refuseTakenName('tool', () =>
    scope.transaction(async (tx) => {
      await tx.lock(ToolRow, id)
      await tx
        .query(ToolRow)
        .findOne('id', id)
        .patch({ ...given(columns), updatedAt: tx.now() })
      return getTool(tx, { id })
    }),
  )
}
