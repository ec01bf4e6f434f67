/** The JSON Schema keywords that our schemas use and that the examples are built from. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  items?: Schema
  required?: string[]
  enum?: unknown[]
  examples?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  additionalProperties?: boolean | Schema
  description?: string
  [keyword: string]: unknown
}

export type Parameter = {
  in: 'query' | 'path' | 'header'
  name: string
  required?: boolean
  description?: string
  schema: Schema
  example?: unknown
}

export type Reference = { $ref: string }

type MediaType = { schema: Schema; example?: unknown }

export type Content = Partial<Record<'application/json' | 'application/octet-stream' | 'text/csv', MediaType>>

/** `application/json` except for streams, files and the plain texts that providers expect. */
export type ResponseContent = Partial<
  Record<keyof Content | 'text/plain' | 'text/event-stream' | 'application/x-ndjson', MediaType>
>

export type Response = { description: string; headers?: Record<string, object>; content?: ResponseContent }

export type Operation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  security?: Record<string, string[]>[]
  /** The scope that an API key needs. OpenAPI has scopes for OAuth only. */
  'x-scope'?: string
  parameters?: (Parameter | Reference)[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, Response | Reference>
}

/** An operation in the library's document, which contains no references to parameters and responses. */
export type GeneratedOperation = Omit<Operation, 'parameters' | 'responses'> & {
  parameters?: Parameter[]
  responses: Record<string, Response>
}

export type GeneratedDocument = Pick<Document, 'components'> & {
  paths: Record<string, Record<string, GeneratedOperation>>
}

/** The part of OpenAPI 3.1 that we write. */
export type Document = {
  openapi: string
  info: { title: string; description: string } & Record<string, unknown>
  servers: object[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, { post: Operation }>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, Parameter>
    responses: Record<string, Response>
    headers: Record<string, object>
    securitySchemes: object
  }
}
