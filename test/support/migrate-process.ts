// Migrates the database of its first argument for the login of its second; says when it begins, so that it can be killed.
import { migrate } from '../../src/store/migrate.ts';

const [adminUrl = '', applicationUrl = ''] = process.argv.slice(2);
console.log('begins');
await migrate({ adminUrl, applicationUrl });
