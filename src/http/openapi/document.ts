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

export type Content = { 'application/json': { schema: Schema; example?: unknown } }

export type Response = { description: string; headers?: Record<string, object>; content?: Content }

export type Operation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, Response>
}

/** The part of OpenAPI 3.1 that we write. */
export type Document = {
  openapi: string
  info: object
  servers: object[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; securitySchemes: object; headers: Record<string, object> }
}
