import { z } from 'zod'
import { timestamp, text } from '../../trpc/schemas.ts'

export const AiProvider = z
  .object({
    baseUrl: z.string(),
    model: z.string(),
    hasApiKey: z.boolean(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'AiProvider' })
export type AiProvider = z.infer<typeof AiProvider>

export const PutAiProvider = z.strictObject({
  baseUrl: z
    .string()
    .max(500)
    .meta({
      description: 'Base URL of the API; requests go to /chat/completions below it',
      examples: ['https://api.example.com/v1'],
    }),
  model: text(200).meta({ description: 'Default model of steps that name none', examples: ['small-1'] }),
  apiKey: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(1000)
    .regex(/^[\x21-\x7e]*$/, 'must have no spaces, line breaks or special characters')
    .nullish()
    .meta({
      description: 'Stored encrypted and never returned. If absent, the stored key is kept; null removes it',
    }),
})
export type PutAiProvider = z.infer<typeof PutAiProvider>
