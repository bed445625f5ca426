SELECT o.id AS order_id, c.name AS customer, o.amount FROM orders o JOIN customers c ON o.cust_id = c.id WHERE o.status = 'open'
SELECT region, COUNT(*) AS cnt, COUNT(DISTINCT cust_id) AS buyers, SUM(amount) AS revenue FROM orders GROUP BY region
SELECT year(order_date) AS y, month(order_date) AS m, sum(price * qty) AS turnover FROM orders WHERE order_date IS NOT NULL GROUP BY year(order_date), month(order_date)
SELECT c.id, c.name, NVL(t.total, 0) AS total FROM customers c LEFT OUTER JOIN (SELECT cust_id, SUM(qty) AS total FROM orders GROUP BY cust_id) t ON t.cust_id = c.id
SELECT id, tag FROM orders LATERAL VIEW explode(tags) tt AS tag
SELECT o.id, t.pos, t.tag FROM orders o LATERAL VIEW OUTER posexplode(o.tags) t AS pos, tag WHERE o.region = 'north'
SELECT tag, count(1) AS uses FROM orders LATERAL VIEW explode(tags) x AS tag GROUP BY tag HAVING count(1) > 1
SELECT e.user_id, i.sku, i.qty FROM events e LATERAL VIEW inline(e.items) i AS sku, qty
SELECT e.user_id, p.k, p.v FROM events e LATERAL VIEW explode(e.props) p AS k, v WHERE e.kind = 'click'
SELECT user_id, props['depth'] AS depth, size(items) AS item_count FROM events WHERE kind IS NOT NULL
SELECT sku, title, CASE WHEN list_price < 10 THEN 'cheap' WHEN list_price < 1000 THEN 'normal' ELSE 'luxury' END AS price_band FROM products
SELECT dept, AVG(rating) AS avg_rating, MAX(hired) AS last_hire, MIN(salary) AS min_salary FROM staff GROUP BY dept
SELECT s.name AS employee, m.name AS boss FROM staff s LEFT JOIN staff m ON s.manager_id = m.id
SELECT id, name, salary, rank() OVER (PARTITION BY dept ORDER BY salary DESC) AS rnk FROM staff WHERE salary IS NOT NULL
SELECT * FROM (SELECT id, cust_id, amount, row_number() OVER (PARTITION BY cust_id ORDER BY created_at DESC, id DESC) AS rn FROM orders WHERE cust_id IS NOT NULL) r WHERE rn = 1
SELECT id, order_date, sum(qty) OVER (PARTITION BY region ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running_qty FROM orders
SELECT user_id, ts, unix_timestamp(ts) - unix_timestamp(lag(ts) OVER (PARTITION BY user_id ORDER BY ts)) AS gap_seconds FROM events WHERE ts IS NOT NULL
SELECT user_id, date_format(ts, 'yyyy-MM') AS ym, count(*) AS hits FROM events GROUP BY user_id, date_format(ts, 'yyyy-MM')
SELECT DISTINCT to_date(created_at) AS created_day FROM orders
SELECT id, datediff(to_date(created_at), order_date) AS delay_days FROM orders
SELECT name, floor(months_between('2024-06-30', joined) / 12) AS member_years FROM customers
SELECT name, upper(trim(name)) AS nm, lower(email) AS mail, length(name) AS len FROM customers
SELECT id, concat(name, ' <', email, '>') AS recipient FROM customers WHERE email LIKE '%@%'
SELECT split(email, '@')[1] AS domain, count(*) AS n FROM customers WHERE email <> '' GROUP BY split(email, '@')[1]
SELECT sku, regexp_extract(sku, '([A-Z]+)([0-9]+)', 2) AS num FROM products
SELECT id, get_json_object(note, '$.a') AS a FROM orders WHERE note LIKE '{%'
SELECT id, parse_url(note, 'HOST') AS host FROM orders WHERE note LIKE 'http%'
SELECT country, collect_set(tier) AS tiers FROM customers WHERE tier = 'gold' GROUP BY country
SELECT dept, concat_ws(', ', sort_array(collect_list(name))) AS members FROM staff GROUP BY dept
SELECT region, SUM(CASE WHEN paid THEN amount ELSE 0 END) AS paid_amount, SUM(CASE WHEN NOT paid THEN 1 ELSE 0 END) AS unpaid FROM orders WHERE id < 9 GROUP BY region
SELECT region, SUM(IF(status = 'open', 1, 0)) AS open_cnt, SUM(IF(status = 'closed', 1, 0)) AS closed_cnt, SUM(IF(status = 'new', 1, 0)) AS new_cnt FROM orders GROUP BY region
SELECT region, round(100.0 * sum(CASE WHEN paid = true THEN 1 ELSE 0 END) / count(*), 2) AS paid_pct FROM orders GROUP BY region
SELECT status, region, count(*) AS n FROM orders GROUP BY status, region WITH ROLLUP
SELECT country, tier, sum(credit) AS credit FROM customers GROUP BY country, tier GROUPING SETS ((country, tier), (country), ())
SELECT category, active, count(*) AS n, GROUPING__ID AS gid FROM products GROUP BY category, active WITH CUBE
SELECT name FROM customers UNION ALL SELECT name FROM staff
SELECT u.who, u.src FROM (SELECT name AS who, 'customer' AS src FROM customers UNION SELECT name AS who, 'staff' AS src FROM staff) u WHERE u.who IS NOT NULL
SELECT c.* FROM customers c LEFT SEMI JOIN orders o ON c.id = o.cust_id AND o.paid = true
SELECT c.id, c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id)
SELECT p.sku, p.title FROM products p WHERE p.sku IN (SELECT sku FROM orders WHERE qty > 1)
WITH spend AS (SELECT cust_id, sum(price) AS s FROM orders GROUP BY cust_id) SELECT c.name, spend.s FROM spend JOIN customers c ON c.id = spend.cust_id WHERE spend.s > 5
WITH a AS (SELECT region, amount FROM orders WHERE amount > 0), b AS (SELECT region, max(amount) AS top FROM a GROUP BY region) SELECT a.region, a.amount FROM a JOIN b ON a.region = b.region AND a.amount = b.top
SELECT name, salary, CAST(salary AS int) AS whole, CAST(salary AS string) AS txt FROM staff
SELECT id, CAST(amount AS decimal(10,2)) AS amt, CAST(qty AS double) / 2 AS half FROM orders WHERE id <= 4
SELECT sku, round(list_price * 1.19, 2) AS gross, ceil(list_price) AS up, floor(list_price) AS down FROM products
SELECT id, price / qty AS unit FROM orders WHERE qty <> 0
SELECT id, COALESCE(note, status, 'n/a') AS remark FROM orders
SELECT name, COALESCE(rating, 0.0) AS rating FROM staff
SELECT id, nvl(discount, 0) AS disc FROM orders
SELECT id, price * (1 - nvl(discount, 0)) AS net FROM orders WHERE id IN (1, 2, 3)
SELECT dept, percentile_approx(rating, 0.5) AS med FROM staff WHERE dept IS NOT NULL GROUP BY dept
SELECT name, salary, ntile(2) OVER (ORDER BY salary, id) AS bucket FROM staff WHERE salary > 0
SELECT id, first_value(sku) OVER (PARTITION BY cust_id ORDER BY id) AS first_sku, last_value(sku) OVER (PARTITION BY cust_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_sku FROM orders
SELECT name, joined, add_months(joined, 12) AS anniversary, last_day(joined) AS month_end FROM customers
SELECT id, from_unixtime(units, 'yyyy-MM-dd') AS unit_day FROM orders WHERE id = 1
SELECT day, cast(day AS date) AS d, year(day) AS y FROM events WHERE day RLIKE '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
SELECT id, hour(created_at) AS hr, dayofmonth(created_at) AS dom, weekofyear(created_at) AS wk, quarter(created_at) AS q FROM orders
SELECT id, order_date + INTERVAL '7' DAY AS due FROM orders WHERE order_date >= '2024-01-01'
SELECT id, date_add(order_date, 14) AS due_date, date_sub(order_date, 1) AS day_before FROM orders WHERE paid
SELECT trunc(order_date, 'MM') AS month_start, sum(qty) AS q FROM orders GROUP BY trunc(order_date, 'MM')
SELECT ship.city AS city, count(*) AS shipments FROM orders WHERE ship IS NOT NULL GROUP BY ship.city
SELECT id, attrs['color'] AS color, size(attrs) AS nattrs, map_keys(attrs) AS ks FROM orders WHERE id IN (1, 4, 7)
SELECT id FROM orders WHERE array_contains(tags, 'new') AND qty BETWEEN 1 AND 10
SELECT id, lpad(CAST(id AS string), 5, '0') AS padded, substr(sku, 1, 3) AS prefix, instr(note, 'gift') AS at FROM orders
SELECT id, regexp_replace(trim(note), ' +', '_') AS slug, reverse(region) AS rev FROM orders WHERE note IS NOT NULL
SELECT name, salary FROM staff ORDER BY salary DESC, id LIMIT 3
SELECT category, sum(stock * list_price) AS stock_value FROM products WHERE stock > 0 GROUP BY category HAVING sum(stock * list_price) > 100
SELECT e.kind, count(*) AS n, sum(e.score) AS s, max(e.ts) AS latest FROM events e WHERE e.ts >= '2024-01-01 00:00:00' GROUP BY e.kind
SELECT o.id, p.category, round(o.amount / nullif(p.weight, 0), 3) AS per_kg FROM orders o JOIN products p ON o.sku = p.sku WHERE p.weight > 0
SELECT k.cust_id, k.n, CASE k.n WHEN 1 THEN 'once' WHEN 2 THEN 'twice' ELSE 'often' END AS freq FROM (SELECT cust_id, count(*) AS n FROM orders GROUP BY cust_id) k
