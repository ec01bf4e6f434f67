/** The operations of the API. The build replaces this file by the types of the OpenAPI document. */
export type paths = Record<never, never>
