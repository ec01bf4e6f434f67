import { z } from 'zod'
import { isCountry } from '../../platform/phone.ts'
import { id, line, timestamp, timezone } from '../../trpc/schemas.ts'

const language = z
  .string()
  .regex(/^[a-z]{2,3}(_[A-Z]{2})?$/, 'must be a language code of templates, such as en or pt_BR with an underscore')
  .meta({ examples: ['pt_BR'] })

const COUNTRY = 'must be an ISO 3166-1 alpha-2 code such as BR'
const country = z
  .string()
  .regex(/^[A-Z]{2}$/, { error: COUNTRY, abort: true })
  .refine(isCountry, COUNTRY)
  .meta({ examples: ['BR'] })

const name = line(120)

export const Workspace = z
  .object({
    id,
    name: z.string(),
    timezone: z.string(),
    language: z.string().nullable(),
    country: z.string().nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Workspace' })
export type Workspace = z.infer<typeof Workspace>

/** Null is left out of a new workspace, which has no value to remove. */
const settings = {
  timezone: timezone
    .optional()
    .meta({ description: 'The zone of schedules, workflows and contacts without their own' }),
  language: language.nullish().meta({ description: 'In the form of the languages of templates' }),
  country: country.nullish().meta({ description: 'ISO 3166-1 alpha-2 code' }),
}

export const CreateWorkspace = z.strictObject({ name, ...settings })
export type CreateWorkspace = z.infer<typeof CreateWorkspace>

export const UpdateWorkspace = z.strictObject({ name: name.optional(), ...settings })
export type UpdateWorkspace = z.infer<typeof UpdateWorkspace>

/** The confirmation is strict: a client that sends the name of another workspace deletes nothing. */
export const DeleteWorkspace = z.strictObject({
  name: z
    .string()
    .max(1000)
    .meta({ description: 'The exact name of the workspace, as a confirmation', examples: ['Casa Verde'] }),
})
export type DeleteWorkspace = z.infer<typeof DeleteWorkspace>

export const DeletedWorkspaceRef = z.strictObject({ workspaceId: id })
export type DeletedWorkspaceRef = z.infer<typeof DeletedWorkspaceRef>

export const WorkspaceDeletion = z
  .object({
    workspaceId: id,
    name: z.string(),
    status: z.enum(['deleting', 'deleted']),
    deletedBy: id.meta({ description: 'The user who deleted it' }),
    rows: z
      .record(z.string(), z.int().nonnegative())
      .meta({ description: 'Numbers of deleted rows by table; final once `finishedAt` is set' }),
    files: z.int().nonnegative().meta({ description: 'Number of deleted files' }),
    deletedAt: timestamp.meta({ description: 'From this time on nothing was done for the workspace' }),
    startedAt: timestamp.nullable().meta({ description: 'Time of the first row that was deleted' }),
    finishedAt: timestamp.nullable().meta({ description: 'From this time on no row and no file is left' }),
  })
  .meta({ id: 'WorkspaceDeletion' })
export type WorkspaceDeletion = z.infer<typeof WorkspaceDeletion>
