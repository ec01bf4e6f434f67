import { startAudit } from '../../trpc/audit.ts'
import { adminProcedure, router, sessionProcedure, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createOwnWorkspace } from './create-workspace.ts'
import { CreateWorkspace, UpdateWorkspace, Workspace } from './schema.ts'
import { getWorkspace, updateWorkspace } from './settings.ts'

const GET = { description: 'Returns name, time zone, language and country of the workspace of `x-tenant-id`.' }

const UPDATE = {
  description:
    'Fields that are left out stay as they are. Schedules without a time zone of their own move to the new one.',
  example: { name: 'Casa Verde', timezone: 'America/Sao_Paulo', language: 'pt_BR', country: 'BR' },
} as const

const CREATE = {
  status: 201,
  withoutWorkspace: true,
  description:
    'The caller becomes its owner. Returns 422 with the code `too_many_workspaces` for the owner of 20 workspaces.',
} as const

/** Procedures of the namespace `workspaces`. */
export const workspacesRouter = router({
  create: sessionProcedure
    .meta(rest('POST', '/workspaces', 'Create a workspace', CREATE))
    .input(CreateWorkspace)
    .output(Workspace)
    .mutation(({ ctx, input, path }) => createOwnWorkspace({ ...ctx, audit: startAudit(ctx, path) }, input)),
})

/** Procedures of the namespace `workspace`. */
export const workspaceSettingsRouter = router({
  get: viewerProcedure
    .meta(rest('GET', '/workspace', 'Get the workspace', GET))
    .input(empty.strict())
    .output(Workspace)
    .query(({ ctx }) => getWorkspace(ctx.scope)),

  update: adminProcedure
    .meta(rest('PATCH', '/workspace', 'Update the workspace', UPDATE))
    .input(UpdateWorkspace)
    .output(Workspace)
    .mutation(({ ctx, input }) => updateWorkspace(ctx.scope, input)),
})
