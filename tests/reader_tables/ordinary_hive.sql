SELECT id, cust_id, amount FROM orders WHERE paid
SELECT region, count(*) AS n FROM orders GROUP BY region
SELECT region, sum(amount) AS total, avg(amount) AS mean FROM orders GROUP BY region
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust_id = c.id
SELECT o.id, c.name, p.title FROM orders o JOIN customers c ON o.cust_id = c.id LEFT JOIN products p ON o.sku = p.sku
SELECT c.name, count(o.id) AS orders FROM customers c LEFT OUTER JOIN orders o ON c.id = o.cust_id GROUP BY c.name
SELECT id, CASE WHEN qty > 10 THEN 'bulk' WHEN qty > 1 THEN 'multi' ELSE 'single' END AS size FROM orders
SELECT id, nvl(note, 'none') AS note FROM orders
SELECT id, coalesce(note, region, 'unknown') AS label FROM orders
SELECT id, if(paid, 'yes', 'no') AS paid FROM orders
SELECT id, upper(region) AS region, lower(sku) AS sku FROM orders
SELECT id, concat(region, '-', sku) AS code FROM orders
SELECT id, concat_ws('/', region, sku, note) AS path FROM orders
SELECT id, substr(sku, 1, 3) AS prefix, substring(sku, 4) AS rest FROM orders
SELECT id, length(note) AS len, trim(note) AS note FROM orders
SELECT id, round(amount, 2) AS amount FROM orders
SELECT id, round(price) AS price FROM orders
SELECT id, floor(amount) AS lo, ceil(amount) AS hi FROM orders
SELECT id, abs(qty) AS qty FROM orders
SELECT id, qty * price AS gross FROM orders
SELECT id, qty * price * (1 - discount) AS net FROM orders
SELECT id, amount / qty AS unit_price FROM orders
SELECT id, price / 3 AS third FROM orders
SELECT id, qty % 3 AS bucket FROM orders
SELECT id, year(order_date) AS y, month(order_date) AS m, day(order_date) AS d FROM orders
SELECT year(order_date) AS y, month(order_date) AS m, sum(amount) AS total FROM orders GROUP BY year(order_date), month(order_date)
SELECT id, date_add(order_date, 30) AS due FROM orders
SELECT id, date_sub(order_date, 7) AS week_before FROM orders
SELECT id, datediff(to_date(created_at), order_date) AS lag_days FROM orders
SELECT id, to_date(created_at) AS created FROM orders
SELECT id, date_format(order_date, 'yyyy-MM') AS ym FROM orders
SELECT id, date_format(created_at, 'yyyy-MM-dd HH:mm') AS created FROM orders
SELECT id, hour(created_at) AS h, minute(created_at) AS mi FROM orders
SELECT id, add_months(order_date, 1) AS next_month FROM orders
SELECT id, last_day(order_date) AS month_end FROM orders
SELECT id, trunc(order_date, 'MM') AS month_start FROM orders
SELECT id, months_between(to_date(created_at), order_date) AS months FROM orders
SELECT id, unix_timestamp(created_at) AS epoch FROM orders
SELECT id, from_unixtime(units) AS ts FROM orders
SELECT id, weekofyear(order_date) AS w, quarter(order_date) AS q FROM orders
SELECT id, CAST(amount AS INT) AS amount FROM orders
SELECT id, CAST(qty AS STRING) AS qty FROM orders
SELECT id, CAST(price AS STRING) AS price FROM orders
SELECT id, CAST(amount AS STRING) AS amount FROM orders
SELECT id, CAST(amount AS DECIMAL(12,2)) AS amount FROM orders
SELECT id, CAST(order_date AS STRING) AS d FROM orders
SELECT id, CAST(created_at AS DATE) AS d FROM orders
SELECT id, CAST(created_at AS STRING) AS d FROM orders
SELECT id, CAST(sku AS INT) AS n FROM orders
SELECT id, CAST(paid AS INT) AS paid FROM orders
SELECT id, row_number() OVER (PARTITION BY cust_id ORDER BY created_at, id) AS rn FROM orders
SELECT id, rank() OVER (PARTITION BY region ORDER BY amount DESC) AS r FROM orders
SELECT id, dense_rank() OVER (ORDER BY qty) AS r FROM orders
SELECT id, sum(amount) OVER (PARTITION BY cust_id) AS total FROM orders
SELECT id, sum(qty) OVER (PARTITION BY cust_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM orders
SELECT id, lag(amount) OVER (PARTITION BY cust_id ORDER BY id) AS prev FROM orders
SELECT id, lead(order_date, 1) OVER (PARTITION BY cust_id ORDER BY id) AS nxt FROM orders
SELECT id, lag(qty, 1, 0) OVER (ORDER BY id) AS prev FROM orders
SELECT id, first_value(sku) OVER (PARTITION BY cust_id ORDER BY id) AS first_sku FROM orders
SELECT id, last_value(sku) OVER (PARTITION BY cust_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_sku FROM orders
SELECT id, ntile(4) OVER (ORDER BY id) AS quartile FROM orders
SELECT id, avg(amount) OVER (PARTITION BY region ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving FROM orders
SELECT id, amount / sum(amount) OVER (PARTITION BY region) AS share FROM orders
SELECT id, count(*) OVER (PARTITION BY region) AS peers FROM orders
SELECT * FROM (SELECT id, cust_id, row_number() OVER (PARTITION BY cust_id ORDER BY id DESC) AS rn FROM orders) t WHERE rn = 1
SELECT cust_id, max(order_date) AS last_order, min(order_date) AS first_order FROM orders GROUP BY cust_id
SELECT cust_id, count(DISTINCT sku) AS skus FROM orders GROUP BY cust_id
SELECT region, sum(CASE WHEN paid THEN amount ELSE 0 END) AS paid_amount FROM orders GROUP BY region
SELECT region, sum(if(paid, 1, 0)) AS paid_orders FROM orders GROUP BY region
SELECT region, sum(price) AS total, avg(price) AS mean FROM orders GROUP BY region
SELECT region, min(qty) AS lo, max(qty) AS hi FROM orders GROUP BY region HAVING count(*) > 1
SELECT region, stddev(amount) AS sd FROM orders GROUP BY region
SELECT region, variance(qty) AS v FROM orders GROUP BY region
SELECT DISTINCT region FROM orders
SELECT DISTINCT region, status FROM orders WHERE region IS NOT NULL
SELECT id FROM orders WHERE region IN ('north', 'south')
SELECT id FROM orders WHERE region NOT IN ('north', 'south')
SELECT id FROM orders WHERE qty BETWEEN 1 AND 10
SELECT id FROM orders WHERE order_date BETWEEN '2024-01-01' AND '2024-12-31'
SELECT id FROM orders WHERE order_date >= '2024-02-01'
SELECT id FROM orders WHERE order_date >= DATE '2024-02-01'
SELECT id FROM orders WHERE created_at > '2024-02-01 00:00:00'
SELECT id FROM orders WHERE note LIKE '%gift%'
SELECT id FROM orders WHERE sku RLIKE '^A[0-9]+'
SELECT id FROM orders WHERE note IS NULL OR note = ''
SELECT id FROM orders WHERE NOT paid
SELECT id FROM orders WHERE paid = true AND qty > 0
SELECT id FROM orders WHERE cust_id IN (SELECT id FROM customers WHERE tier = 'gold')
SELECT c.id, c.name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id)
SELECT c.id, c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id)
SELECT c.id, c.name FROM customers c LEFT SEMI JOIN orders o ON c.id = o.cust_id
SELECT c.id FROM customers c LEFT JOIN orders o ON c.id = o.cust_id WHERE o.id IS NULL
SELECT a.name, b.name AS manager FROM staff a LEFT JOIN staff b ON a.manager_id = b.id
SELECT coalesce(c.id, o.cust_id) AS id, c.name, o.id AS order_id FROM customers c FULL OUTER JOIN orders o ON c.id = o.cust_id
SELECT s.dept, p.category FROM (SELECT DISTINCT dept FROM staff) s CROSS JOIN (SELECT DISTINCT category FROM products) p
SELECT id, name FROM customers UNION ALL SELECT id, name FROM staff
SELECT name FROM customers UNION SELECT name FROM staff
SELECT u.kind, count(*) AS n FROM (SELECT 'order' AS kind, id FROM orders UNION ALL SELECT 'event' AS kind, CAST(user_id AS INT) AS id FROM events) u GROUP BY u.kind
SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag
SELECT id, tag FROM orders LATERAL VIEW OUTER explode(tags) t AS tag
SELECT id, pos, tag FROM orders LATERAL VIEW posexplode(tags) t AS pos, tag
SELECT id, k, v FROM orders LATERAL VIEW explode(attrs) t AS k, v
SELECT tag, count(*) AS n FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag
SELECT id, word FROM orders LATERAL VIEW explode(split(note, ' ')) w AS word
SELECT user_id, item.sku, item.qty FROM events LATERAL VIEW explode(items) i AS item
SELECT user_id, s.sku, s.qty FROM events LATERAL VIEW inline(items) s AS sku, qty
SELECT id, ship.city, ship.zip FROM orders
SELECT id, tags[0] AS first_tag, size(tags) AS n FROM orders
SELECT id, attrs['color'] AS color FROM orders
SELECT id, map_keys(attrs) AS ks FROM orders WHERE attrs IS NOT NULL
SELECT id, array_contains(tags, 'new') AS is_new FROM orders
SELECT id, sort_array(tags) AS tags FROM orders
SELECT id, split(sku, '-')[0] AS family FROM orders
SELECT id, regexp_replace(note, '[^a-z]', '') AS clean FROM orders
SELECT id, regexp_extract(sku, '([A-Z]+)([0-9]+)', 2) AS num FROM orders
SELECT id, instr(note, 'a') AS p, locate('e', note) AS q FROM orders
SELECT id, lpad(CAST(id AS STRING), 6, '0') AS code FROM orders
SELECT id, rpad(sku, 8, '.') AS code FROM orders
SELECT id, reverse(sku) AS r, initcap(note) AS t FROM orders
SELECT id, translate(sku, 'AB', 'ab') AS t FROM orders
SELECT id, repeat('*', qty) AS bar FROM orders WHERE qty BETWEEN 0 AND 5
SELECT id, ltrim(note) AS l, rtrim(note) AS r FROM orders
SELECT id, md5(sku) AS h FROM orders
SELECT id, greatest(qty, 0) AS qty FROM orders
SELECT id, least(amount, 100.0) AS capped FROM orders
SELECT id, greatest(order_date, to_date(created_at)) AS latest FROM orders
SELECT id, nullif(region, '') AS region FROM orders
SELECT id, region = 'north' AS is_north FROM orders
SELECT id, code, status FROM orders WHERE status = 'open'
SELECT id FROM orders WHERE code = 'A1'
SELECT status, count(*) AS n FROM orders GROUP BY status
SELECT id, concat(code, '|', status) AS cs FROM orders
SELECT id, upper(status) AS st FROM orders
SELECT id, length(code) AS n FROM orders
WITH big AS (SELECT * FROM orders WHERE amount > 100) SELECT region, count(*) AS n FROM big GROUP BY region
WITH t AS (SELECT cust_id, sum(amount) AS total FROM orders GROUP BY cust_id) SELECT c.name, t.total FROM t JOIN customers c ON t.cust_id = c.id WHERE t.total > 50
SELECT name, credit, credit * 1.1 AS raised FROM customers
SELECT name, credit + 100 AS credit FROM customers
SELECT name, round(credit, 1) AS credit FROM customers
SELECT tier, sum(credit) AS credit, avg(credit) AS mean FROM customers GROUP BY tier
SELECT name, floor(credit) AS credit FROM customers
SELECT name, datediff('2024-12-31', joined) AS days FROM customers
SELECT name, floor(datediff('2024-12-31', joined) / 365) AS years FROM customers
SELECT name, substr(email, instr(email, '@') + 1) AS domain FROM customers
SELECT name, split(email, '@')[1] AS domain FROM customers
SELECT regexp_extract(email, '@(.*)$', 1) AS domain, count(*) AS n FROM customers GROUP BY regexp_extract(email, '@(.*)$', 1)
SELECT name, CAST(birth AS DATE) AS birth FROM customers
SELECT name, to_date(birth) AS birth FROM customers
SELECT name, year(birth) AS y FROM customers
SELECT country, collect_set(tier) AS tiers FROM customers GROUP BY country
SELECT country, size(collect_list(name)) AS n FROM customers GROUP BY country
SELECT country, concat_ws(',', sort_array(collect_list(name))) AS names FROM customers GROUP BY country
SELECT country, tier, count(*) AS n FROM customers GROUP BY country, tier WITH ROLLUP
SELECT country, tier, count(*) AS n FROM customers GROUP BY country, tier WITH CUBE
SELECT country, tier, count(*) AS n FROM customers GROUP BY country, tier GROUPING SETS ((country), (tier), ())
SELECT name, CASE tier WHEN 'gold' THEN 3 WHEN 'silver' THEN 2 ELSE 1 END AS level FROM customers
SELECT name, CASE WHEN credit IS NULL THEN 0 ELSE credit END AS credit FROM customers
SELECT name, coalesce(credit, 0) AS credit FROM customers
SELECT name, nvl(credit, 0.0) AS credit FROM customers
SELECT name, if(credit > 1000, credit, 0) AS credit FROM customers
SELECT name, nvl(referrer, -1) AS referrer FROM customers
SELECT name, country FROM customers ORDER BY name
SELECT name, country FROM customers ORDER BY country, name LIMIT 5
SELECT name, credit FROM customers ORDER BY credit DESC LIMIT 3
SELECT name, country FROM customers SORT BY name
SELECT dept, max(salary) AS top, min(salary) AS bottom, max(salary) - min(salary) AS spread FROM staff GROUP BY dept
SELECT dept, percentile_approx(rating, 0.5) AS med FROM staff GROUP BY dept
SELECT dept, percentile(CAST(salary AS BIGINT), 0.5) AS med FROM staff GROUP BY dept
SELECT dept, corr(salary, rating) AS c FROM staff GROUP BY dept
SELECT name, salary, rank() OVER (PARTITION BY dept ORDER BY salary DESC) AS pos FROM staff
SELECT name, salary, row_number() OVER (ORDER BY salary DESC, id) AS pos FROM staff
SELECT name, salary - lag(salary) OVER (PARTITION BY dept ORDER BY hired, id) AS diff FROM staff
SELECT name, salary / avg(salary) OVER (PARTITION BY dept) AS ratio FROM staff
SELECT name, percent_rank() OVER (PARTITION BY dept ORDER BY id) AS pr, cume_dist() OVER (PARTITION BY dept ORDER BY id) AS cd FROM staff
SELECT name, salary * 12 AS yearly FROM staff
SELECT name, CAST(salary * 1.05 AS DECIMAL(12,2)) AS next FROM staff
SELECT name, salary / 12 AS monthly FROM staff
SELECT name, round(salary / 12, 2) AS monthly FROM staff
SELECT dept, round(avg(salary), 2) AS mean FROM staff GROUP BY dept
SELECT dept, count(*) AS n, sum(salary) AS total FROM staff WHERE hired < '2020-01-01' GROUP BY dept
SELECT name, hired, add_months(hired, 6) AS probation_end FROM staff
SELECT name, date_format(hired, 'E') AS weekday FROM staff
SELECT name, date_format(hired, 'MMM yyyy') AS hired FROM staff
SELECT name, date_format(hired, 'u') AS dow FROM staff
SELECT name, dayofweek(hired) AS dow FROM staff
SELECT name, next_day(hired, 'MON') AS monday FROM staff
SELECT name, hired + INTERVAL '1' YEAR AS anniversary FROM staff
SELECT name, hired - INTERVAL '3' DAY AS before FROM staff
SELECT name, from_unixtime(unix_timestamp(hired, 'yyyy-MM-dd'), 'dd/MM/yyyy') AS hired FROM staff
SELECT name, extract(year FROM hired) AS y FROM staff
SELECT name, cast(date_format(hired, 'yyyyMMdd') AS INT) AS key FROM staff
SELECT kind, count(*) AS n, avg(score) AS score FROM events GROUP BY kind
SELECT kind, day, sum(score) AS score FROM events GROUP BY kind, day
SELECT day, count(DISTINCT user_id) AS users FROM events GROUP BY day
SELECT user_id, min(ts) AS first_seen, max(ts) AS last_seen FROM events GROUP BY user_id
SELECT user_id, datediff(max(ts), min(ts)) AS days FROM events GROUP BY user_id
SELECT user_id, unix_timestamp(max(ts)) - unix_timestamp(min(ts)) AS seconds FROM events GROUP BY user_id
SELECT user_id, kind, ts, lead(ts) OVER (PARTITION BY user_id ORDER BY ts, kind) AS next_ts FROM events
SELECT user_id, sum(CASE WHEN kind = 'click' THEN 1 ELSE 0 END) AS clicks, sum(CASE WHEN kind = 'view' THEN 1 ELSE 0 END) AS views FROM events GROUP BY user_id
SELECT user_id, sum(CASE WHEN kind = 'click' THEN 1 ELSE 0 END) / count(*) AS rate FROM events GROUP BY user_id
SELECT user_id, props['depth'] AS depth FROM events
SELECT user_id, sum(props['depth']) AS depth FROM events GROUP BY user_id
SELECT user_id, k, v FROM events LATERAL VIEW explode(props) p AS k, v WHERE v > 1
SELECT user_id, size(items) AS n FROM events
SELECT user_id, items[0].sku AS sku FROM events
SELECT user_id, sum(i.qty) AS qty FROM events LATERAL VIEW explode(items) t AS i GROUP BY user_id
SELECT day, year(day) AS y, month(day) AS m FROM events
SELECT day, date_add(day, 1) AS next FROM events
SELECT user_id FROM events WHERE day = '2024-02-29'
SELECT user_id FROM events WHERE day >= '2024-01-01' AND day < '2024-03-01'
SELECT user_id FROM events WHERE ts BETWEEN '2024-01-01' AND '2024-02-01'
SELECT user_id FROM events WHERE to_date(ts) = '2024-02-29'
SELECT user_id FROM events WHERE hour(ts) BETWEEN 9 AND 17
SELECT user_id, score FROM events WHERE score > 0.5
SELECT user_id, round(score) AS score FROM events
SELECT user_id, round(score, 1) AS score FROM events
SELECT user_id, CAST(score * 100 AS BIGINT) AS pct FROM events
SELECT user_id, CAST(user_id AS STRING) AS user_key FROM events
SELECT user_id, isnull(score) AS no_score FROM events
SELECT user_id, score IS NOT NULL AND score > 1 AS flag FROM events
SELECT user_id, nvl(score, 0) AS score FROM events
SELECT user_id, coalesce(score, 0.0) AS score FROM events
SELECT user_id, sqrt(score) AS r, power(score, 2) AS p FROM events WHERE score >= 0
SELECT user_id, ln(score) AS l, exp(score) AS e FROM events WHERE score > 0 AND score < 10
SELECT user_id, log10(score) AS l FROM events WHERE score > 0
SELECT user_id, pmod(user_id, 7) AS bucket FROM events
SELECT pmod(user_id, 4) AS bucket, count(*) AS n FROM events GROUP BY pmod(user_id, 4)
SELECT user_id, user_id % 2 = 0 AS even FROM events
SELECT user_id, hex(user_id) AS h FROM events
SELECT user_id, date_format(ts, 'yyyy') AS y, count(*) AS n FROM events GROUP BY user_id, date_format(ts, 'yyyy')
SELECT sku, title, list_price FROM products WHERE active AND stock > 0
SELECT category, count(*) AS n, sum(stock) AS stock FROM products GROUP BY category
SELECT category, sum(stock * list_price) AS worth FROM products GROUP BY category
SELECT category, avg(weight) AS w, max(list_price) AS p FROM products GROUP BY category
SELECT sku, list_price * 1.19 AS gross FROM products
SELECT sku, CAST(list_price * 1.19 AS DECIMAL(10,2)) AS gross FROM products
SELECT sku, list_price - list_price * 0.1 AS sale FROM products
SELECT sku, weight * stock AS total_weight FROM products
SELECT sku, stock / 2 AS half FROM products
SELECT sku, stock div 2 AS half FROM products
SELECT sku, CASE WHEN stock = 0 THEN NULL ELSE list_price / stock END AS x FROM products
SELECT sku, stock & 1 AS odd, stock | 8 AS b FROM products
SELECT sku, length(title) AS len, substr(title, -3) AS tail FROM products
SELECT sku, upper(substr(title, 1, 1)) AS initial FROM products
SELECT sku, concat(upper(substr(title, 1, 1)), lower(substr(title, 2))) AS title FROM products
SELECT sku, title FROM products WHERE lower(title) LIKE 'chair%'
SELECT sku, title FROM products WHERE title LIKE '_a%'
SELECT sku, title FROM products WHERE category <=> 'toys'
SELECT sku, title FROM products WHERE category <> 'toys'
SELECT sku, title FROM products WHERE category != 'toys' OR category IS NULL
SELECT p.sku, p.title, o.n FROM products p LEFT JOIN (SELECT sku, count(*) AS n FROM orders GROUP BY sku) o ON p.sku = o.sku
SELECT p.category, sum(o.qty * p.list_price) AS revenue FROM orders o JOIN products p ON o.sku = p.sku GROUP BY p.category
SELECT p.category, year(o.order_date) AS y, sum(o.amount) AS total FROM orders o JOIN products p ON o.sku = p.sku GROUP BY p.category, year(o.order_date)
SELECT c.country, sum(o.amount) AS total, count(DISTINCT c.id) AS customers FROM orders o JOIN customers c ON o.cust_id = c.id GROUP BY c.country
SELECT c.country, p.category, count(*) AS n FROM orders o JOIN customers c ON o.cust_id = c.id JOIN products p ON o.sku = p.sku GROUP BY c.country, p.category
SELECT c.name, o.amount, rank() OVER (PARTITION BY c.country ORDER BY o.amount DESC) AS r FROM orders o JOIN customers c ON o.cust_id = c.id
SELECT c.name, o.order_date, datediff(o.order_date, c.joined) AS days FROM customers c JOIN orders o ON c.id = o.cust_id
SELECT c.name, max(o.order_date) AS last FROM customers c LEFT JOIN orders o ON c.id = o.cust_id AND o.paid GROUP BY c.name
SELECT a.id, b.id AS later FROM orders a JOIN orders b ON a.cust_id = b.cust_id WHERE a.order_date < b.order_date
SELECT o.id FROM orders o, customers c WHERE o.cust_id = c.id AND c.country = 'DE'
SELECT o.id, nvl(c.name, 'unknown') AS name, nvl(o.qty, 0) AS qty FROM orders o LEFT JOIN customers c ON o.cust_id = c.id
SELECT t.region, t.total, t.total / s.all_total AS share FROM (SELECT region, sum(amount) AS total FROM orders GROUP BY region) t CROSS JOIN (SELECT sum(amount) AS all_total FROM orders) s
SELECT id, amount FROM orders WHERE amount > (SELECT avg(amount) FROM orders)
SELECT region, count(*) AS n, sum(qty) AS q FROM orders WHERE order_date IS NOT NULL GROUP BY region ORDER BY n DESC
SELECT region, max(amount) AS m FROM orders GROUP BY region ORDER BY m DESC LIMIT 2
SELECT id, status IN ('open', 'new') AS pending FROM orders
SELECT id, CASE WHEN discount > 0.1 THEN 'high' ELSE 'low' END AS d FROM orders
SELECT id, discount * 100 AS pct FROM orders
SELECT id, round(discount, 2) AS discount FROM orders
SELECT id, CAST(discount AS DOUBLE) AS discount FROM orders
SELECT id, amount * discount AS rebate FROM orders
SELECT avg(discount) AS d, sum(discount) AS s FROM orders
SELECT id, -qty AS neg, +qty AS pos FROM orders
SELECT id, units + 1 AS u, units * 2 AS v FROM orders WHERE units < 1000000
SELECT sum(units) AS u FROM orders WHERE units < 1000000
SELECT count(*) AS n, count(note) AS notes, count(DISTINCT region, status) AS combos FROM orders
SELECT count(1) AS n, max(id) AS top FROM orders WHERE region = 'none'
SELECT id, named_struct('r', region, 'q', qty) AS s FROM orders
SELECT id, array(region, sku) AS a FROM orders
SELECT id, map('region', region, 'sku', sku) AS m FROM orders
SELECT id, str_to_map('a:1,b:2') AS m FROM orders
SELECT id, array(qty, 1, 2)[1] AS one FROM orders
SELECT id, get_json_object(note, '$.a') AS a FROM orders
SELECT id, parse_url(note, 'HOST') AS host FROM orders
SELECT id, ascii(sku) AS a FROM orders
SELECT id, sign(qty) AS s FROM orders
SELECT id, bround(amount, 1) AS b FROM orders
SELECT id, conv(id, 10, 2) AS bin FROM orders
SELECT id, length(concat(region, status)) AS n FROM orders
SELECT id, sha2(sku, 256) AS h FROM orders
SELECT id, find_in_set(region, 'north,south') AS f FROM orders
SELECT id, levenshtein(region, 'north') AS d FROM orders
SELECT id, cust_id, amount FROM orders WHERE (region = 'north' AND paid) OR (region = 'south' AND NOT paid)
SELECT id, (qty > 1) AND paid AS flag FROM orders
SELECT o.* FROM orders o WHERE o.id > 3
SELECT region, sum(amount) / count(*) AS mean FROM orders GROUP BY region
SELECT id, coalesce(discount, 0) AS discount FROM orders
SELECT id, date_format(created_at, 'HH') AS h, date_format(created_at, 'EEEE') AS d FROM orders
SELECT id, price FROM orders UNION ALL SELECT id, 0 AS price FROM orders
SELECT 'a' AS src, id, qty FROM orders UNION ALL SELECT 'b' AS src, id, NULL AS qty FROM staff
