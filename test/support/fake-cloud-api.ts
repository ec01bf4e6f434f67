export * from '../../fake-whatsapp/fake-cloud-api.ts'
