import { agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { getConsent } from './get-consent.ts'
import { recordConsent } from './record-consent.ts'
import { ContactConsent, GetConsent, RecordConsent } from './schema.ts'

const GET = {
  description:
    'Returns the state of each purpose, now or at the time `at`, and the ledger: every change of consent with its source, actor and evidence. Entries are never changed, and deleted only with their contact.',
}

const RECORD = {
  status: 201,
  description:
    'Adds an entry to the ledger and changes the state of the purpose. An entry is added even if the state stays the same, because the contact may have agreed to another text.',
} as const

/** Procedures of the namespace `contacts`. */
export const contactConsentRouter = router({
  consent: viewerProcedure
    .meta(rest('GET', '/contacts/{contactId}/consent', 'Get the consent of a contact', GET))
    .input(GetConsent)
    .output(ContactConsent)
    .query(({ ctx, input }) => getConsent(ctx.scope, input)),

  recordConsent: agentProcedure
    .meta(rest('POST', '/contacts/{contactId}/consent', 'Record a consent', RECORD))
    .input(RecordConsent)
    .output(ContactConsent)
    .mutation(({ ctx, input }) => recordConsent(ctx.scope, input)),
})
