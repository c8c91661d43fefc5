// Verifies a message with the library of Standard Webhooks, and prints its body.
const { Webhook } = require("standardwebhooks");
const { secret, headers, body } = JSON.parse(process.argv[2]);
console.log(JSON.stringify(new Webhook(secret).verify(body, headers)));
