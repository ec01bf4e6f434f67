import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createTool, deleteTool, updateTool } from './changes.ts'
import { listTools, getTool } from './queries.ts'
import { CreateTool, Tool, ToolRef, Tools, UpdateTool } from './schema.ts'

export const toolsRouter = router({
  list: viewerProcedure
    .meta(
      rest('GET', '/tools', 'List tools', { description: 'Returns the built-in tools and those of the workspace.' }),
    )
    .input(omittable(empty.strict()))
    .output(Tools)
    .query(({ ctx }) => listTools(ctx.scope)),

  create: adminProcedure
    .meta(
      rest('POST', '/tools', 'Create a tool', {
        description: 'Adds an HTTP endpoint that workflows and AI steps can call.',
        status: 201,
        idempotent: 'commit',
      }),
    )
    .input(CreateTool)
    .output(Tool)
    .mutation(({ ctx, input }) => ctx.once(Tool, (commit) => createTool(ctx.scope, input, commit))),

  get: viewerProcedure
    .meta(
      rest('GET', '/tools/{toolId}', 'Get a tool', {
        description: 'Returns the endpoint of the tool and the schema of its input.',
      }),
    )
    .input(ToolRef)
    .output(Tool)
    .query(({ ctx, input }) => getTool(ctx.scope, input)),

  update: adminProcedure
    .meta(
      rest('PATCH', '/tools/{toolId}', 'Update a tool', {
        description: 'Fields that are left out stay as they are. Built-in tools cannot be changed.',
      }),
    )
    .input(UpdateTool)
    .output(Tool)
    .mutation(({ ctx, input }) => updateTool(ctx.scope, input)),

  delete: adminProcedure
    .meta(
      rest('DELETE', '/tools/{toolId}', 'Delete a tool', {
        description: 'Workflows that call the tool fail at that step. Built-in tools cannot be deleted.',
        status: 204,
      }),
    )
    .input(ToolRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteTool(ctx.scope, input)),
})
