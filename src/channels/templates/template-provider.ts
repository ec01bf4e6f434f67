import type { TemplateCategory } from './fill-template.ts'
import type { ParameterFormat } from './variables.ts'

/** Content of a template as it is sent to the provider. */
export type TemplateSubmission = {
  name: string
  language: string
  category: TemplateCategory
  parameterFormat: ParameterFormat | null
  components: Record<string, unknown>[]
}

/** Statuses that a provider sets. */
export type ProviderTemplateStatus =
  'pending' | 'approved' | 'rejected' | 'paused' | 'disabled' | 'in_appeal' | 'archived' | 'deleted'

/** A template as the provider lists it. */
export type ProviderTemplate = Omit<TemplateSubmission, 'parameterFormat'> & {
  providerTemplateId: string
  status: ProviderTemplateStatus
  quality: 'green' | 'yellow' | 'red' | null
  rejectionReason: string | null
}

/**
 * Templates of a provider's account. Every call ends within its deadline; without a response it may have been executed.
 * @throws BadGatewayError `provider_error` with the provider's reason
 */
export interface TemplateProvider {
  /** Returns null for a category or status that the provider did not name. */
  create(template: TemplateSubmission): Promise<{
    providerTemplateId: string
    status: ProviderTemplateStatus | null
    category: TemplateCategory | null
  }>
  /** Replaces the content of a rejected template, which is reviewed again. */
  replace(providerTemplateId: string, template: TemplateSubmission): Promise<void>
  /** Deletes a template; one that does not exist is deleted already. */
  remove(template: { providerTemplateId: string; name: string }): Promise<void>
  /** Lists a page. `next` is the cursor of the following one; `skipped` counts templates that cannot be read. */
  listPage(cursor: string | null): Promise<{ templates: ProviderTemplate[]; skipped: number; next: string | null }>
}
